#include "lumen/slam/frame_doubt.h"

#include <gtest/gtest.h>

#include "lumen/slam/perfect_video_test.h"

namespace lumen {
namespace {

double After(LiveDoubt& doubt, int frames, const DepthDisagreement& disagreement) {
  double probability = 0;
  for (int i = 0; i < frames; ++i) probability = doubt.Note(disagreement);
  return probability;
}

constexpr DepthDisagreement kCalm{0.005, 0.02, 900}, kWild{0.1, 0.2, 900};

TEST(LiveDoubt, GrowsWhereDepthsDisagreeAndFadesAgain) {
  LiveDoubt doubt;
  const double before = After(doubt, 60, kCalm);
  const double during = After(doubt, 60, kWild);
  EXPECT_GT(during, 2 * before);
  EXPECT_GT(during, kWeakAtOnce);
  EXPECT_NE(doubt.Reason().find("disagree"), std::string::npos) << doubt.Reason();
  EXPECT_NEAR(After(doubt, 200, kCalm), before, 0.02);
}

TEST(LiveDoubt, GrowsAfterALoss) {
  LiveDoubt doubt;
  const double before = After(doubt, 60, kCalm);
  for (int i = 0; i < 30; ++i) doubt.NoteLost();
  EXPECT_GT(doubt.Note(kCalm), 2 * before);
  EXPECT_NE(doubt.Reason().find("lost"), std::string::npos) << doubt.Reason();
}

TEST(LiveDoubt, SaysSomethingFromTheFirstFrameOn) {
  LiveDoubt doubt;
  const double first = doubt.Note(DepthDisagreement());
  EXPECT_GT(first, 0);
  EXPECT_LT(first, kWeakAtOnce);
}

// A few keyframes of a simulated video where they were, each with a frame after it.
class DoubtFramesTest : public testing::Test {
 protected:
  DoubtFramesTest() {
    for (int i = 0; i < kKeyframes; ++i) {
      MapKeyframe& keyframe = map_.keyframes[i];
      keyframe.keyframe = video_.MakeKeyframe(3 * i);
      keyframe.state.world_from_camera = video_.Sequence().Pose(3 * i);
      keyframe.state.code = Eigen::VectorXd::Zero(keyframe.keyframe->depth.NumBases());
      certainty_.keyframes[i] = 1e-4 * PlaceCovariance::Identity();
      frames_.push_back({3 * i, 0.1 * i, i, {}, 0});
      frames_.push_back({3 * i + 1, 0.1 * i + 0.03, i, {}, 0});
    }
  }
  std::vector<double> Doubts() const { return DoubtFrames(frames_, map_, certainty_, CertaintyOptions{}); }

  static constexpr int kKeyframes = 6;
  const PerfectVideo& video_ = PerfectVideo::OfSubject(0, 20);
  MapSnapshot map_;
  MapCertainty certainty_;
  FrameLog frames_;
};

TEST_F(DoubtFramesTest, AMapThatAgreesWithItselfIsHardlyDoubted) {
  const std::vector<double> doubts = Doubts();
  ASSERT_EQ(doubts.size(), 2U * kKeyframes);
  for (const double doubt : doubts) {
    EXPECT_GT(doubt, 0);
    EXPECT_LT(doubt, kWeakFrom);
  }
}

TEST_F(DoubtFramesTest, IsGreaterWhereTheMapIsLessSureAndWhereItsDepthsDisagree) {
  const std::vector<double> calm = Doubts();
  certainty_.keyframes[2] *= 400;
  const std::vector<double> less_sure = Doubts();
  EXPECT_GT(less_sure[4], 1.5 * calm[4]);
  certainty_.keyframes[2] /= 400;
  for (int i = 1; i < kKeyframes; i += 2) map_.keyframes[i].state.log_scale += 0.2;
  map_.keyframes[2].state.world_from_camera =
      map_.keyframes[2].state.world_from_camera * Rigid3(ExpSO3({0.2, 0, 0}), {0, 0, 0});
  EXPECT_GT(Doubts()[0], calm[0]);
}

TEST_F(DoubtFramesTest, SaysNothingOfFramesThatWereNotPlacedAndMoreOfTheOthers) {
  const std::vector<double> calm = Doubts();
  for (int i = 0; i < 6; ++i) frames_.push_back({100 + i, 1 + 0.03 * i, -1, {}, 0});
  const std::vector<double> broken = Doubts();
  EXPECT_LT(broken.back(), 0);
  EXPECT_GT(broken[0], calm[0]);
}

TEST(DoubtFrames, OfAnEmptyMapThereIsNothing) {
  FrameLog frames;
  frames.push_back({0, 0, -1, {}, 0});
  EXPECT_EQ(DoubtFrames(frames, {}, {}, {}), std::vector<double>{-1});
}

}  // namespace
}  // namespace lumen
