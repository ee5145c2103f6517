#include "lumen/slam/keyframe_policy.h"

#include <gtest/gtest.h>

#include "lumen/slam/frame_log.h"

namespace lumen {
namespace {

TrackResult GoodTrack() {
  TrackResult track;
  track.status = TrackStatus::kTracked;
  track.keypoints = 256;
  track.consistent = 200;
  track.inliers = 180;
  track.explained = 0.95;
  track.overlap = {0.95, 0.97, 0.03};
  return track;
}

TEST(KeyframePolicy, EachReasonAloneIsEnough) {
  const KeyframeOptions options;
  EXPECT_EQ(DecideKeyframe(GoodTrack(), options).decision, KeyframeDecision::kContinue);
  const auto decide = [&](const auto& spoil) {
    TrackResult track = GoodTrack();
    spoil(track);
    const KeyframeVerdict verdict = DecideKeyframe(track, options);
    EXPECT_FALSE(verdict.reason.empty());
    return verdict.decision;
  };
  EXPECT_EQ(decide([](TrackResult& t) { t.overlap.area = 0.79; }), KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(decide([](TrackResult& t) { t.overlap.point = 0.89; }), KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(decide([](TrackResult& t) { t.overlap.flow = 0.081; }), KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(decide([](TrackResult& t) { t.inliers = 79; }), KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(decide([](TrackResult& t) { t.explained = 0.59; }), KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(decide([](TrackResult& t) {
              t.status = TrackStatus::kLost;
              t.reason = "gone";
            }),
            KeyframeDecision::kLost);
}

TEST(KeyframePolicy, AWeakFrameIsNoKeyframe) {
  TrackResult track = GoodTrack();
  track.overlap.area = 0.5;
  EXPECT_EQ(DecideKeyframe(track, {}).decision, KeyframeDecision::kNewKeyframe);
  track.status = TrackStatus::kWeak;
  EXPECT_EQ(DecideKeyframe(track, {}).decision, KeyframeDecision::kContinue);
}

TEST(KeyframePolicy, WithoutMotionFewMatchesMakeNoKeyframe) {
  TrackResult track = GoodTrack();
  track.inliers = 40;
  track.explained = 0.5;
  EXPECT_EQ(DecideKeyframe(track, {}).decision, KeyframeDecision::kNewKeyframe);
  track.overlap.flow = 0.01;
  EXPECT_EQ(DecideKeyframe(track, {}).decision, KeyframeDecision::kContinue);
}

TEST(KeyframePolicy, APictureWithNothingInItAndALongRowMakeNone) {
  TrackResult track = GoodTrack();
  track.overlap.area = 0.5;
  EXPECT_EQ(DecideKeyframe(track, {}, {.blank = true}).decision, KeyframeDecision::kContinue);
  EXPECT_EQ(DecideKeyframe(track, {}, {.in_a_row = 2}).decision, KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(DecideKeyframe(track, {}, {.in_a_row = 3}).decision, KeyframeDecision::kContinue);
}

TEST(KeyframePolicy, ACrowdMeetsWiderBounds) {
  TrackResult track = GoodTrack();
  track.overlap.area = 0.75;
  EXPECT_EQ(DecideKeyframe(track, {}, {.crowding = 0.2}).decision, KeyframeDecision::kNewKeyframe);
  EXPECT_EQ(DecideKeyframe(track, {}, {.crowding = 0.8}).decision, KeyframeDecision::kContinue);
  EXPECT_EQ(DecideKeyframe(track, {}, {.revisiting = true}).decision, KeyframeDecision::kContinue);
}

TEST(FrameLog, AFrameFollowsItsKeyframeInPlaceAndScale) {
  auto frame = std::make_shared<Frame>();
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->frame = frame;
  MapSnapshot map;
  map.keyframes[3] = {keyframe, {Rigid3(), 0.5, Eigen::VectorXd::Zero(16)}, 0};
  const PlacedFrame placed{7, 0.1, 3, Rigid3(Eigen::Quaterniond::Identity(), {1, 0, 0}), 0.5};
  EXPECT_NEAR((LocateFrame(placed, map)->Translation() - Eigen::Vector3d(1, 0, 0)).norm(), 0, 1e-12);
  // The keyframe doubles its scale and moves: so does the frame's distance from it.
  map.keyframes[3].state.log_scale = 0.5 + std::log(2);
  map.keyframes[3].state.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {0, 5, 0});
  EXPECT_NEAR((LocateFrame(placed, map)->Translation() - Eigen::Vector3d(2, 5, 0)).norm(), 0, 1e-12);
  EXPECT_FALSE(LocateFrame({8, 0.2, -1, {}, 0}, map).has_value());
}

TEST(FrameLog, TheLargestSubMapCounts) {
  auto keyframe = std::make_shared<Keyframe>();
  keyframe->frame = std::make_shared<Frame>();
  MapSnapshot map;
  for (KeyframeId id = 0; id < 5; ++id) map.keyframes[id] = {keyframe, {}, id < 2 ? 0 : 1};
  EXPECT_EQ(LargestSubmap(map), 1);
  EXPECT_EQ(SubmapsOf(map), (std::vector<int>{0, 1}));
  EXPECT_EQ(KeyframeTrajectory(map, 0).size(), 2U);
}

TEST(ImageFault, DarkOverExposedAndFlatPicturesAreSeen) {
  const TrackingOptions options;
  RgbImage chequered(160, 128, 3, 128);
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) chequered(x, y, 0) = (x / 5 + y / 5) % 2 == 0 ? 100 : 160;
  }
  EXPECT_EQ(FindImageFault(chequered, options), "");
  EXPECT_NE(FindImageFault(RgbImage(160, 128, 3, 128), options), "") << "against a wall";
  EXPECT_NE(FindImageFault(RgbImage(160, 128, 3, 0), options), "");
  EXPECT_NE(FindImageFault(RgbImage(160, 128, 3, 255), options), "");
  EXPECT_NE(FindImageFault(RgbImage(), options), "");
}

}  // namespace
}  // namespace lumen
