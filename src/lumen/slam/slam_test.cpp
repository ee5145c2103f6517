#include "lumen/slam/slam.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "lumen/geometry/alignment.h"
#include "lumen/sim/perfect_prior.h"
#include "lumen/sim/suite.h"

namespace lumen {
namespace {

struct PerfectRun {
  std::shared_ptr<const SimulatedSequence> sequence;
  std::shared_ptr<PerfectPriors> priors;
  std::shared_ptr<const View> view;
};

PerfectRun MakePerfectRun(SequenceOptions options) {
  options.width = 160;
  options.height = 128;
  PerfectRun run;
  run.sequence = std::make_shared<const SimulatedSequence>(options);
  run.priors = std::make_shared<PerfectPriors>(run.sequence);
  run.view = MakeView(run.sequence->View(), run.sequence->ContentMask());
  return run;
}

// A picture is not needed by perfect priors, but it must not be black.
InputFrame PlainFrame(const SimulatedSequence& sequence, int index) {
  return {index, sequence.Time(index), RgbImage(160, 128, 3, 128)};
}

struct PathError {
  double rmse = 0;
  double length = 0;
  int placed = 0;
};

PathError Grade(const Trajectory& estimate, const SimulatedSequence& sequence) {
  std::vector<Eigen::Vector3d> a, b;
  PathError error;
  for (const TimedPose& pose : estimate) {
    const int index = static_cast<int>(std::lround(pose.time * sequence.Options().path.fps));
    a.push_back(pose.world_from_camera.Translation());
    b.push_back(sequence.Pose(index).Translation());
  }
  error.placed = static_cast<int>(a.size());
  error.length = PathLength(sequence.GroundTruth());
  const auto alignment = EstimateAlignment(a, b);
  if (!alignment) return {1e9, error.length, error.placed};
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (*alignment * a[i] - b[i]).squaredNorm();
  error.rmse = std::sqrt(sum / static_cast<double>(a.size()));
  return error;
}

TEST(Slam, PerfectPriorsGiveANearlyPerfectPath) {
  SequenceOptions options = MakeSuiteOptions(kBenchmarkSuite[4]);
  options.path.frames = 120;
  const PerfectRun run = MakePerfectRun(options);
  Slam slam(run.priors, run.view);
  for (int i = 0; i < run.sequence->Size(); ++i) {
    const FrameResult result = slam.Process(PlainFrame(*run.sequence, i));
    if (!result.track.Placed()) std::printf("%d lost: %s\n", i, result.track.reason.c_str());
  }
  slam.Refine();
  const PathError error = Grade(slam.FramePoses(), *run.sequence);
  std::printf("ATE %.4f mm of %.1f mm (%.3f %%), %d of %d placed, %zu keyframes\n%s\n", error.rmse,
              error.length, 100 * error.rmse / error.length, error.placed, run.sequence->Size(),
              slam.Snapshot()->keyframes.size(), slam.Times().Table().c_str());
  EXPECT_LT(error.rmse, 0.003 * error.length);
  EXPECT_EQ(error.placed, run.sequence->Size());
}

}  // namespace
}  // namespace lumen
