#include "lumen/eval/depth_error.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"

namespace lumen {
namespace {

// A map whose first pixels are given, the others the last of them.
DepthImage Map(int width, int height, const std::vector<float>& first) {
  DepthImage map(width, height, 1, first.back());
  std::copy(first.begin(), first.end(), map.Data());
  return map;
}

TEST(DepthError, HandComputedScores) {
  // 100 pixels: 98 exact, one estimated at 1.3 of the truth, one at a half.
  DepthImage truth(10, 10, 1, 2.0F);
  DepthImage estimate(10, 10, 1, 1.0F);  // in another scale: 2 of them are one of the truth's
  estimate(0, 0) = 1.3F;
  estimate(1, 0) = 0.5F;
  const auto scores = ScoreDepth(estimate, truth, 2.0);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->valid, 100);
  EXPECT_NEAR(scores->ard, (0.3 + 0.5) / 100, 1e-8);
  EXPECT_NEAR(scores->within[0], 0.98, 1e-12);
  EXPECT_NEAR(scores->within[1], 0.99, 1e-12);
  EXPECT_NEAR(scores->within[2], 0.99, 1e-12);
}

TEST(DepthError, TheBoundItselfIsOutside) {
  DepthImage truth(10, 10, 1, 4.0F);
  EXPECT_EQ(ScoreDepth(DepthImage(10, 10, 1, 5.0F), truth, 1.0)->within[0], 0);
  EXPECT_EQ(ScoreDepth(DepthImage(10, 10, 1, 4.99F), truth, 1.0)->within[0], 1);
}

TEST(DepthError, UnknownPixelsDoNotCount) {
  DepthImage truth = Map(10, 10, {0, -1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1, 2});
  DepthImage estimate = Map(10, 10, {5, 5, 5, 0, std::numeric_limits<float>::infinity(), -3, 2});
  const auto scores = ScoreDepth(estimate, truth, 1.0);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->valid, 94);
  EXPECT_EQ(scores->ard, 0);
}

TEST(DepthError, FewerThanFiftyPixelsAreNoMap) {
  DepthImage truth(10, 10, 1, 0.0F);
  const DepthImage estimate(10, 10, 1, 1.0F);
  std::fill(truth.Data(), truth.Data() + 49, 1.0F);
  EXPECT_FALSE(ScoreDepth(estimate, truth, 1.0));
  EXPECT_FALSE(MedianDepthRatio(estimate, truth));
  truth.Data()[49] = 1;
  EXPECT_TRUE(ScoreDepth(estimate, truth, 1.0));
  EXPECT_TRUE(MedianDepthRatio(estimate, truth));
}

TEST(DepthError, MedianOfRatios) {
  DepthImage truth(3, 17), estimate(3, 17, 1, 2.0F);
  for (int i = 0; i < 51; ++i) truth.Data()[i] = static_cast<float>(2 * ((i * 37) % 51 + 1));
  EXPECT_DOUBLE_EQ(*MedianDepthRatio(estimate, truth), 26);  // of 1 … 51
  truth.Data()[0] = 0;                                       // was 1; of 2 … 51
  EXPECT_DOUBLE_EQ(*MedianDepthRatio(estimate, truth), 26.5);
}

TEST(DepthError, TheFramesOwnScaleTakesAnyScaleOut) {
  Random random(5);
  DepthImage truth(40, 32), estimate(40, 32), scaled(40, 32);
  for (size_t i = 0; i < truth.Size(); ++i) {
    truth.Data()[i] = static_cast<float>(random.Uniform(10, 50));
    estimate.Data()[i] = truth.Data()[i] * static_cast<float>(random.Uniform(0.8, 1.3));
    scaled.Data()[i] = 8 * estimate.Data()[i];
  }
  const auto a = ScoreDepth(estimate, truth, *MedianDepthRatio(estimate, truth));
  const auto b = ScoreDepth(scaled, truth, *MedianDepthRatio(scaled, truth));
  EXPECT_NEAR(a->ard, b->ard, 1e-7);
  EXPECT_EQ(a->within, b->within);
}

// The second implementation: per pixel, from the definitions, in floating point of double precision.
TEST(DepthError, AgreesWithTheSecondImplementation) {
  Random random(6);
  DepthImage truth(64, 48), estimate(32, 24);
  for (size_t i = 0; i < truth.Size(); ++i)
    truth.Data()[i] = random.Chance(0.1) ? 0 : static_cast<float>(random.Uniform(5, 60));
  for (size_t i = 0; i < estimate.Size(); ++i)
    estimate.Data()[i] = random.Chance(0.1) ? 0 : static_cast<float>(random.Uniform(1, 12));
  double sum = 0, count = 0;
  std::array<double, 3> within{};
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 32; ++x) {
      const double e = 5.0 * estimate(x, y), t = truth(2 * x + 1, 2 * y + 1);
      if (e == 0 || t == 0) continue;
      sum += std::abs(e - t) / t;
      count += 1;
      for (size_t k = 0; k < 3; ++k)
        within[k] += e / t < std::pow(1.25, k + 1.0) && t / e < std::pow(1.25, k + 1.0);
    }
  }
  const auto scores = ScoreDepth(estimate, TruthSampler(32, 24, 64, 48).Sample(truth), 5.0);
  EXPECT_EQ(scores->valid, static_cast<int64_t>(count));
  EXPECT_NEAR(scores->ard, sum / count, 1e-6);
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(scores->within[k], within[k] / count, 1e-12);
}

TEST(TruthSampler, TakesTheNearestPixelCentre) {
  DepthImage truth(6, 3);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 6; ++x) truth(x, y) = static_cast<float>(10 * y + x);
  const DepthImage third = TruthSampler(2, 1, 6, 3).Sample(truth);  // centres fall on pixels 1, 4
  EXPECT_EQ(third(0, 0), 11);
  EXPECT_EQ(third(1, 0), 14);
  EXPECT_EQ(TruthSampler(6, 3, 6, 3).Sample(truth), truth);
  const DepthImage larger = TruthSampler(12, 6, 6, 3).Sample(truth);
  EXPECT_EQ(larger(0, 0), 0);
  EXPECT_EQ(larger(1, 1), 0);
  EXPECT_EQ(larger(2, 2), 11);
  EXPECT_EQ(larger(11, 5), 25);
}

TEST(TruthSampler, CamerasOfOneViewAgreeWithPlainSizes) {
  DepthImage truth(320, 256);
  for (size_t i = 0; i < truth.Size(); ++i) truth.Data()[i] = static_cast<float>(i + 1);
  const Camera view = Camera::FromFieldOfView(77, 320, 256);
  for (const int factor : {1, 2, 4}) {
    EXPECT_EQ(TruthSampler(view.Resized(320 / factor, 256 / factor), view).Sample(truth),
              TruthSampler(320 / factor, 256 / factor, 320, 256).Sample(truth));
  }
}

TEST(TruthSampler, ACutOutLooksAtItsPartOfTheTruth) {
  DepthImage truth(100, 80);
  for (size_t i = 0; i < truth.Size(); ++i) truth.Data()[i] = static_cast<float>(i);
  const Camera whole(PinholeCamera{50, 50, 49.5, 39.5}, 100, 80);
  const Camera part(PinholeCamera{50, 50, 49.5 - 30, 39.5 - 20}, 40, 100);  // lower part is outside
  const DepthImage sampled = TruthSampler(part, whole).Sample(truth);
  EXPECT_EQ(sampled(0, 0), truth(30, 20));
  EXPECT_EQ(sampled(39, 59), truth(69, 79));
  EXPECT_EQ(sampled(39, 60), 0);
}

TEST(NearEdges, KeepsWhatLiesNearAJumpAndNothingElse) {
  DepthImage truth(20, 10, 1, 2.0F);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 20; ++x) truth(x, y) = x < 10 ? 2.0F + 0.02F * static_cast<float>(x) : 3.0F;
  }
  truth(0, 0) = 0;  // unknown is no edge
  const DepthImage near = NearEdges(truth, 2);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 20; ++x) EXPECT_EQ(near(x, y), x >= 7 && x <= 12 ? truth(x, y) : 0) << x;
  }
}

TEST(DepthMean, EveryMapCountsTheSame) {
  DepthMean mean;
  mean.Add({0.1, {0.5, 0.6, 0.7}, 100});
  mean.Add({0.3, {0.7, 0.8, 0.9}, 10000});
  EXPECT_EQ(mean.Maps(), 2);
  EXPECT_NEAR(mean.Mean().ard, 0.2, 1e-12);
  EXPECT_NEAR(mean.Mean().within[2], 0.8, 1e-12);
}

}  // namespace
}  // namespace lumen
