#include "lumen/sim/sequence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "lumen/base/error.h"
#include "lumen/sim/sim_test_scene.h"
#include "lumen/sim/suite.h"

namespace lumen {
namespace {

SequenceOptions SmallOptions() {
  SequenceOptions options;
  options.anatomy = AnatomyKind::kBronchus;
  options.seed = 2;
  options.width = 96;
  options.height = 80;
  options.path.frames = 40;
  return options;
}

SimulatedSequence MakeSmall(const SequenceOptions& options) {
  return {SharedAnatomy(options.anatomy, options.seed), options};
}

TEST(Sequence, AFrameIsTheSameInAnyOrderAndWithAnyThreads) {
  SequenceOptions options = SmallOptions();
  options.degradations = ParseDegradations("smoke:2,bubbles:2");
  const SimulatedSequence forwards = MakeSmall(options);
  options.threads = 3;
  const SimulatedSequence backwards = MakeSmall(options);
  std::vector<SimulatedFrame> frames;
  for (int k = 0; k < 40; k += 13) frames.push_back(forwards.Render(k));
  for (int i = 3; i >= 0; --i) {
    const SimulatedFrame frame = backwards.Render(13 * i);
    EXPECT_EQ(frame.image, frames[static_cast<size_t>(i)].image);
    EXPECT_EQ(frame.depth, frames[static_cast<size_t>(i)].depth);
    EXPECT_EQ(frame.world_from_camera.Matrix(), frames[static_cast<size_t>(i)].world_from_camera.Matrix());
  }
}

TEST(Sequence, TellsTimePoseAndDepthOfEachFrame) {
  const SimulatedSequence sequence = MakeSmall(SmallOptions());
  ASSERT_EQ(sequence.Size(), 40);
  const Trajectory truth = sequence.GroundTruth();
  ASSERT_EQ(truth.size(), 40U);
  EXPECT_DOUBLE_EQ(truth[30].time, 1.0);
  const SimulatedFrame frame = sequence.Render(30);
  EXPECT_EQ(frame.index, 30);
  EXPECT_EQ(frame.world_from_camera.Matrix(), truth[30].world_from_camera.Matrix());
  EXPECT_EQ(frame.depth, sequence.RenderDepth(30));
}

TEST(Sequence, SeedsDifferVisibly) {
  const auto render = [](uint64_t seed) {
    SequenceOptions options = SmallOptions();
    options.seed = seed;
    return MakeSmall(options).Render(0).image;
  };
  const RgbImage a = render(2);
  const RgbImage b = render(3);
  double difference = 0;
  for (size_t i = 0; i < a.Size(); ++i) difference += std::abs(a.Data()[i] - b.Data()[i]);
  EXPECT_GT(difference / static_cast<double>(a.Size()), 10);
}

TEST(Sequence, DroppedFramesTakeTheirTruthWithThem) {
  SequenceOptions options = SmallOptions();
  options.degradations = ParseDegradations("jump:3");
  options.path.frames = 100;
  const SimulatedSequence sequence = MakeSmall(options);
  ASSERT_EQ(sequence.Size(), 100);
  double largest = 0;
  for (int k = 1; k < 100; ++k) {
    largest = std::max(largest, (sequence.Pose(k).Translation() - sequence.Pose(k - 1).Translation()).norm());
  }
  EXPECT_GT(largest, 5);
  // Depth belongs to the pose that is told, also right after the jump.
  for (const int k : {0, 40, 60, 99}) {
    const float ahead = sequence.RenderDepth(k)(48, 40);
    const Eigen::Vector3d ray = *sequence.View().Unproject({48, 40});
    const Eigen::Vector3d point = sequence.Pose(k) * (ray * (ahead / ray.z()));
    EXPECT_NEAR(sequence.Scene().Distance(point.cast<float>()), 0, 0.02);
  }
}

TEST(Sequence, ExposureKeepsThePictureInRange) {
  const SimulatedSequence sequence = MakeSmall(SmallOptions());
  for (int k = 0; k < 40; k += 8) {
    const RgbImage image = sequence.Render(k).image;
    double sum = 0;
    int64_t count = 0;
    for (int y = 0; y < 80; ++y) {
      for (int x = 0; x < 96; ++x) {
        if (sequence.ContentMask()(x, y) == 0) continue;
        sum += image(x, y, 0);
        ++count;
      }
    }
    EXPECT_GT(sum / static_cast<double>(count), 70);
    EXPECT_LT(sum / static_cast<double>(count), 220);
  }
}

TEST(Sequence, RefusesNonsenseBeforeAnythingSlow) {
  const auto refuse = [](const auto& spoil) {
    SequenceOptions options = SmallOptions();
    spoil(options);
    EXPECT_THROW(SimulatedSequence{options}, InputError);
  };
  refuse([](SequenceOptions& o) { o.path.frames = 0; });
  refuse([](SequenceOptions& o) { o.path.frames = -1; });
  refuse([](SequenceOptions& o) { o.width = 0; });
  refuse([](SequenceOptions& o) { o.height = -5; });
  refuse([](SequenceOptions& o) { o.width = 100000; });
  refuse([](SequenceOptions& o) { o.field_of_view = 0; });
  refuse([](SequenceOptions& o) { o.field_of_view = 190; });
  refuse([](SequenceOptions& o) { o.threads = 0; });
  refuse([](SequenceOptions& o) { o.camera = Camera(PinholeCamera{1, 1, 0, 0}, 4, 4); });
}

TEST(Suite, HasElevenSubjectsUnseenByTraining) {
  std::map<AnatomyKind, int> counts;
  std::set<std::string> names;
  uint64_t seed = 0;
  for (const SuiteSubject& subject : kBenchmarkSuite) {
    ++counts[subject.anatomy];
    names.insert(subject.name);
    EXPECT_EQ(subject.seed, ++seed);
    EXPECT_LT(subject.seed, kFirstTrainingSeed);
    EXPECT_GE(MakeSuiteOptions(subject).path.frames, 300);
    EXPECT_EQ(MakeSuiteOptions(subject).path.kind, PathKind::kInsertionRetreat);
  }
  EXPECT_EQ(kFirstTrainingSeed, 1000U);
  EXPECT_EQ(names.size(), 11U);
  EXPECT_EQ(counts[AnatomyKind::kNasal], 4);
  EXPECT_EQ(counts[AnatomyKind::kColon], 3);
  EXPECT_EQ(counts[AnatomyKind::kBronchus], 2);
  EXPECT_EQ(counts[AnatomyKind::kStomach], 2);
}

TEST(Suite, FindsSubjectsByName) {
  EXPECT_EQ(FindSuiteSubject("colon-6").seed, 6U);
  EXPECT_THROW(FindSuiteSubject("colon-9"), InputError);
}

}  // namespace
}  // namespace lumen
