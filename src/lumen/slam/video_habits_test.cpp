#include "lumen/slam/video_habits.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/slam/tracker.h"

namespace lumen {
namespace {

TEST(VideoHabits, APictureWithNothingInItHasNoContrast) {
  const Mask mask(40, 32, 1, 1);
  Image<float> alike(40, 32, 8);
  Image<float> various(40, 32, 8);
  Random random(1);
  for (size_t i = 0; i < alike.Size(); ++i) {
    alike.Data()[i] = static_cast<float>(1 + i % 8) + 0.05F * static_cast<float>(random.Normal());
    various.Data()[i] = static_cast<float>(random.Normal());
  }
  EXPECT_LT(DescriptorContrast(alike, mask), 0.1);
  EXPECT_NEAR(DescriptorContrast(various, mask), 8, 0.5);
  EXPECT_EQ(DescriptorContrast(alike, Mask(40, 32)), 0);

  VideoHabits habits({}, 0.04);
  EXPECT_FALSE(habits.IsBlank(0.2)) << "nothing is known yet";
  for (int i = 0; i < 20; ++i) habits.NoteContrast(0.5);
  EXPECT_TRUE(habits.IsBlank(0.2));
  EXPECT_FALSE(habits.IsBlank(0.4));
}

TEST(VideoHabits, DepthNoiseIsThatOfTheVideo) {
  const KeyframeOptions options;
  VideoHabits habits(options, 0.04);
  for (int i = 0; i < 300; ++i) habits.NoteDepthSpread(0.06);
  EXPECT_NEAR(habits.DepthNoise(), options.noise_ratio * 0.06, 0.002);
  for (int i = 0; i < 1000; ++i) habits.NoteDepthSpread(10);
  EXPECT_LE(habits.DepthNoise(), options.most_noise);
  for (int i = 0; i < 1000; ++i) habits.NoteDepthSpread(0);
  EXPECT_NEAR(habits.DepthNoise(), options.least_noise, 0.002);
}

TEST(VideoHabits, KeyframesThatComeDenselyMeetWiderBounds) {
  const KeyframeOptions options;
  VideoHabits habits(options, 0.04);
  EXPECT_EQ(habits.Crowding(), 0);
  habits.NoteFrame(true);
  EXPECT_EQ(habits.KeyframesInARow(), 1);
  habits.NoteFrame(false);
  EXPECT_EQ(habits.KeyframesInARow(), 0);
  for (int i = 0; i < 1000; ++i) habits.NoteFrame(i % 10 == 0);
  EXPECT_EQ(habits.Crowding(), 0);
  for (int i = 0; i < 1000; ++i) habits.NoteFrame(i % 2 == 0);
  EXPECT_EQ(habits.Crowding(), 1);
}

TEST(Motion, ThePredictionKnowsTheTime) {
  const Rigid3 step = Rigid3::Exp((Vector6d() << 1, 0, 0.5, 0, 0.1, 0).finished());
  Motion motion;
  EXPECT_EQ(motion.Predict(1).Translation().norm(), 0);
  motion.last = {1.0, step};
  EXPECT_EQ(motion.Predict(1.1).Log(), step.Log());
  motion.before_last = {0.9, Rigid3()};
  EXPECT_LT((motion.Predict(1.1).Inverse() * (step * step)).Log().norm(), 1e-9);
  EXPECT_LT((motion.Predict(1.2).Inverse() * (step * step * step)).Log().norm(), 1e-9) << "a frame was lost";
  EXPECT_LT((motion.Predict(1.05).Inverse() * (step * Rigid3::Exp(0.5 * step.Log()))).Log().norm(), 1e-9);
  const double far = motion.Predict(100).Translation().norm();
  EXPECT_LT(far, 10) << "a hand does not go on for ever";
}

}  // namespace
}  // namespace lumen
