// TUM, KITTI and COLMAP's images.txt: which of them it is shows in the text.
#include "fuzz/fuzz.h"
#include "lumen/io/trajectory_file.h"

namespace lumen::fuzz {
namespace {

void ReadTrajectory(const std::string& input) {
  const Trajectory trajectory = LoadTrajectory(WriteScratch("frames.tum", input));
  for (size_t i = 0; i < trajectory.size(); ++i) {
    const Rigid3& pose = trajectory[i].world_from_camera;
    Expect(std::isfinite(trajectory[i].time), "times are finite");
    Expect(pose.Matrix().allFinite(), "poses are finite");
    Expect(std::abs(pose.Rotation().norm() - 1) < 1e-6, "rotations are rotations");
    Expect(i == 0 || trajectory[i - 1].time <= trajectory[i].time, "time goes forwards");
  }
  std::string text;
  for (const TimedPose& pose : trajectory) text += FormatTumLine(pose);
  if (!trajectory.empty())
    Expect(ParseTrajectory(text, kName).size() == trajectory.size(), "what is written reads back");
}

const Registration kTarget("trajectory", ReadTrajectory);

}  // namespace
}  // namespace lumen::fuzz
