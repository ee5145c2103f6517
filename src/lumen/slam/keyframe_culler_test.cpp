#include "lumen/slam/keyframe_culler.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "lumen/slam/perfect_video_test.h"

namespace lumen {
namespace {

// Three times in and out of the same tube.
class KeyframeCullerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SequenceOptions options = MakeSuiteOptions(kBenchmarkSuite.at(4));
    options.path.frames = 360;
    options.path.loops = 3;
    video_ = new PerfectVideo(options);
    vocabulary_ = new std::shared_ptr<const Vocabulary>(video_->MakeVocabulary());
  }
  static void TearDownTestSuite() {
    delete std::exchange(video_, nullptr);
    delete std::exchange(vocabulary_, nullptr);
  }

  struct Outcome {
    std::shared_ptr<const MapSnapshot> map;
    int64_t active = 0, retired = 0;
    PerfectVideo::Error error;
  };
  static Outcome Run(const MapOptions& map_options) {
    SlamOptions options;
    options.map = map_options;
    Slam slam(video_->MakePriors(), video_->GetView(), *vocabulary_, options);
    for (int i = 0; i < video_->Size(); ++i) slam.Process(video_->Frame(i));
    Outcome outcome;
    outcome.map = slam.Snapshot();
    for (const auto& [id, keyframe] : outcome.map->keyframes)
      ++(keyframe.IsActive() ? outcome.active : outcome.retired);
    outcome.error = video_->Grade(slam);
    std::printf("%ld active, %ld retired, %d placed, %.4f mm\n", outcome.active, outcome.retired,
                outcome.error.placed, outcome.error.rmse);
    return outcome;
  }

  // As it is by default: two cases look at it.
  static const Outcome& Culled() {
    static const Outcome culled = Run({});
    return culled;
  }

  static PerfectVideo* video_;
  static std::shared_ptr<const Vocabulary>* vocabulary_;
};

PerfectVideo* KeyframeCullerTest::video_ = nullptr;
std::shared_ptr<const Vocabulary>* KeyframeCullerTest::vocabulary_ = nullptr;

TEST_F(KeyframeCullerTest, APlaceSeenAgainAddsFewKeyframesAndNothingIsLost) {
  const Outcome all = Run({.cull = false});
  const Outcome& culled = Culled();
  EXPECT_EQ(all.retired, 0);
  EXPECT_GT(culled.retired, 0);
  EXPECT_LT(culled.active, all.active);
  EXPECT_EQ(culled.error.placed, video_->Size());
  EXPECT_LT(culled.error.rmse, 1.5 * all.error.rmse + 0.02);
  for (const auto& [id, keyframe] : culled.map->keyframes) {
    if (keyframe.IsActive()) continue;
    ASSERT_TRUE(culled.map->keyframes.contains(keyframe.host));
    EXPECT_TRUE(culled.map->keyframes.at(keyframe.host).IsActive());
    EXPECT_TRUE(keyframe.keyframe->frame->features.levels.empty()) << "nothing is compared with it any more";
    EXPECT_FALSE(keyframe.keyframe->frame->image.Empty());
    EXPECT_EQ(keyframe.state.code.size(), 0);
    const DepthImage depth =
        ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
    EXPECT_GT(depth(40, 32), 0);
  }
  for (const MapEdge& edge : culled.map->edges) {
    EXPECT_TRUE(culled.map->keyframes.at(edge.first).IsActive());
    EXPECT_TRUE(culled.map->keyframes.at(edge.second).IsActive());
  }
}

TEST_F(KeyframeCullerTest, TheBoundHoldsAndEveryFrameKeepsItsPlace) {
  const Outcome bounded = Run({.most_keyframes = 24});
  EXPECT_LE(bounded.active, 24);
  EXPECT_EQ(bounded.error.placed, video_->Size());
  EXPECT_LT(bounded.error.share, 0.02);
}

// A map that is saved and taken up again has its retired keyframes where they were.
TEST_F(KeyframeCullerTest, RetiredKeyframesComeBackWithTheirMap) {
  const Outcome& culled = Culled();
  BackEnd back_end{SlamOptions()};
  back_end.Restore(*culled.map, {});
  const auto restored = back_end.Snapshot();
  ASSERT_EQ(restored->keyframes.size(), culled.map->keyframes.size());
  for (const auto& [id, keyframe] : culled.map->keyframes) {
    const MapKeyframe& again = restored->keyframes.at(id);
    EXPECT_EQ(again.host, keyframe.host);
    const Rigid3 off = keyframe.state.world_from_camera.Inverse() * again.state.world_from_camera;
    EXPECT_LT(off.Translation().norm(), 0.05) << id;
  }
}

}  // namespace
}  // namespace lumen
