// The tables and calibrations of data sets whose pictures are files: the first part of an input says which
// set, the others are its files.
#include <cmath>

#include "fuzz/fuzz.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/png.h"

namespace lumen::fuzz {
namespace {

constexpr const char* kPictures[] = {"c3vd/0000_color.png", "SyntheticColon_I/Frames_S1/FrameBuffer_0000.png",
                                     "UnityCam/Colon/Frames/image_0000.png", "simulated/rgb/image_0000.png"};

void WritePictures() {
  for (const char* name : kPictures) {
    std::filesystem::create_directories((Scratch() / name).parent_path());
    SavePng(Scratch() / name, Image<uint8_t>(5, 4, 3, 90));
  }
}

std::filesystem::path WriteDataset(const std::string& input) {
  switch (input.empty() ? '0' : input[0]) {
    case '1':
      return WriteFolder(input, {"kind", "SyntheticColon_I/cam.txt", "SyntheticColon_I/SavedPosition_S1.txt",
                                 "SyntheticColon_I/SavedRotationQuaternion_S1.txt",
                                 "SyntheticColon_I/Frames_S1/Depth_0000.png"}) /
             "SyntheticColon_I";
    case '2':
      return WriteFolder(input, {"kind", "UnityCam/Calibration/cam.txt",
                                 "UnityCam/Colon/Poses/colon_position_rotation.csv"}) /
             "UnityCam";
    case '3':
      return WriteFolder(input, {"kind", "simulated/calibration.txt", "simulated/trajectory.csv"}) /
             "simulated";
    default:
      return WriteFolder(input, {"kind", "c3vd/pose.txt"}) / "c3vd";
  }
}

void ReadDataset(const std::string& input) {
  static const bool kWritten = (WritePictures(), true);
  Expect(kWritten, "the pictures are there");
  const auto source = OpenInput(WriteDataset(input), {});
  const SourceInfo& info = source->Info();
  Expect(info.width == 5 && info.height == 4 && info.frame_count == 1, "its picture is read");
  Expect(!info.camera || info.camera->Width() == 5, "its camera has the pictures' size");
  if (!info.truth) return;
  for (const TimedPose& pose : *info.truth) {
    Expect(std::isfinite(pose.time) && pose.world_from_camera.Translation().allFinite(), "poses are numbers");
    Expect(std::abs(pose.world_from_camera.Rotation().norm() - 1) < 1e-6, "rotations are rotations");
  }
}

const Registration kTarget("dataset", ReadDataset);

}  // namespace
}  // namespace lumen::fuzz
