#include "lumen/scene/matching.h"

#include <gtest/gtest.h>

#include <limits>

#include "lumen/base/random.h"
#include "lumen/image/mask.h"

namespace lumen {
namespace {

// Smooth random descriptors, shifted by (dx, dy) pixels.
Image<float> ShiftedField(double dx, double dy, int channels = 16) {
  Random random(3);
  Image<float> image(80, 64, channels);
  for (int c = 0; c < channels; ++c) {
    const double a = random.Uniform(-0.5, 0.5);
    const double b = random.Uniform(-0.5, 0.5);
    const double phase = random.Uniform(0, 6);
    for (int y = 0; y < 64; ++y) {
      for (int x = 0; x < 80; ++x)
        image(x, y, c) = static_cast<float>(std::sin(a * (x - dx) + b * (y - dy) + phase));
    }
  }
  return image;
}

TEST(DescriptorIndex, AgreesWithExhaustiveSearch) {
  Random random(1);
  Image<float> field(31, 23, 16);
  for (size_t i = 0; i < field.Size(); ++i) field.Data()[i] = static_cast<float>(random.Normal());
  Mask mask(31, 23, 1, 255);
  for (int i = 0; i < 200; ++i) {
    const auto x = static_cast<int>(random.UniformInt(0, 30));
    mask(x, static_cast<int>(random.UniformInt(0, 22))) = 0;
  }
  const DescriptorIndex index(field, mask);
  std::vector<std::vector<float>> queries(21, std::vector<float>(16));
  std::vector<const float*> pointers;
  for (auto& query : queries) {
    for (float& value : query) value = static_cast<float>(random.Normal());
    pointers.push_back(query.data());
  }
  const auto nearest = index.FindNearest(pointers);
  for (size_t q = 0; q < queries.size(); ++q) {
    double best = std::numeric_limits<double>::infinity();
    Eigen::Vector2i expected(-1, -1);
    for (int y = 0; y < 23; ++y) {
      for (int x = 0; x < 31; ++x) {
        if (mask(x, y) == 0) continue;
        double sum = 0;
        for (int c = 0; c < 16; ++c) sum += std::pow(queries[q][static_cast<size_t>(c)] - field(x, y, c), 2);
        if (sum < best) {
          best = sum;
          expected = {x, y};
        }
      }
    }
    EXPECT_EQ(nearest[q], expected);
  }
}

TEST(Matching, ShiftedImageIsMatchedByItsShift) {
  const Image<float> a = ShiftedField(0, 0);
  const Image<float> b = ShiftedField(3, -2);
  const Mask mask(80, 64, 1, 255);
  const DescriptorIndex index_a(a, mask);
  const DescriptorIndex index_b(b, mask);
  const auto keypoints = SampleKeypoints(ErodeMask(mask, 6), 256, 7);
  const MatchSet set = MatchDescriptors({a, &index_a}, keypoints, {b, &index_b});
  EXPECT_EQ(set.candidates, 256);
  EXPECT_EQ(set.matches.size(), 256U);
  for (const Match& match : set.matches)
    EXPECT_EQ(match.target - match.source.cast<double>(), Eigen::Vector2d(3, -2));
}

TEST(Matching, SubpixelFindsAFractionOfAPixel) {
  const Image<float> a = ShiftedField(0, 0);
  const Image<float> b = ShiftedField(1.3, 0.4);
  const Mask mask(80, 64, 1, 255);
  const DescriptorIndex index_a(a, mask);
  const DescriptorIndex index_b(b, mask);
  const auto keypoints = SampleKeypoints(ErodeMask(mask, 6), 100, 7);
  const MatchSet set = MatchDescriptors({a, &index_a}, keypoints, {b, &index_b}, {.subpixel = true});
  ASSERT_GT(set.matches.size(), 90U);
  for (const Match& match : set.matches)
    EXPECT_LT((match.target - match.source.cast<double>() - Eigen::Vector2d(1.3, 0.4)).norm(), 0.1);
}

TEST(Matching, CycleCheckDropsWhatHasNoCounterpart) {
  const Image<float> a = ShiftedField(0, 0);
  Image<float> b = ShiftedField(0, 0);
  Random random(5);
  for (int y = 0; y < 64; ++y) {  // the left half shows something else
    for (int x = 0; x < 40; ++x) {
      for (int c = 0; c < 16; ++c) b(x, y, c) = static_cast<float>(random.Normal());
    }
  }
  const Mask mask(80, 64, 1, 255);
  const DescriptorIndex index_a(a, mask);
  const DescriptorIndex index_b(b, mask);
  const MatchSet set = MatchDescriptors({a, &index_a}, SampleKeypoints(mask, 256, 1), {b, &index_b});
  int wrong = 0;
  for (const Match& match : set.matches) wrong += match.source.x() < 38;
  const int right = static_cast<int>(set.matches.size()) - wrong;
  EXPECT_GT(right, 110);
  EXPECT_LT(wrong, right / 3) << "most of what is not there is not matched";
}

TEST(Matching, SmallOrEmptyMasksGiveFewerOrNoMatches) {
  const Image<float> a = ShiftedField(0, 0);
  Mask small(80, 64);
  small(10, 10) = small(11, 10) = small(12, 30) = 255;
  EXPECT_EQ(SampleKeypoints(small, 256, 1).size(), 3U);
  const DescriptorIndex index(a, small);
  const DescriptorIndex nothing(a, Mask(80, 64));
  EXPECT_EQ(MatchDescriptors({a, &index}, SampleKeypoints(small, 256, 1), {a, &index}).matches.size(), 3U);
  EXPECT_TRUE(MatchDescriptors({a, &index}, SampleKeypoints(small, 256, 1), {a, &nothing}).matches.empty());
}

TEST(Matching, NumbersThatAreNotFiniteMatchNothing) {
  const Mask mask(80, 64, 1, 255);
  const auto keypoints = SampleKeypoints(mask, 400, 1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const bool everywhere : {false, true}) {
      Image<float> source = ShiftedField(0, 0);
      Image<float> target = ShiftedField(3, 1);
      for (int y = 0; y < 64; ++y) {
        for (int x = 0; x < (everywhere ? 80 : 30); ++x) source(x, y, x % 16) = target(x, y, 3) = bad;
      }
      const DescriptorIndex source_index(source, mask);
      const DescriptorIndex target_index(target, mask);
      const MatchSet set = MatchDescriptors({source, &source_index}, keypoints, {target, &target_index});
      EXPECT_EQ(set.matches.empty(), everywhere);
      for (const Match& match : set.matches) {
        EXPECT_GE(match.source.x(), 30);
        EXPECT_GE(match.target.x(), 30);
      }
    }
  }
}

TEST(Matching, KeypointsAreDistinctAndSeeded) {
  const Mask mask(80, 64, 1, 255);
  const auto a = SampleKeypoints(mask, 300, 1);
  EXPECT_EQ(a, SampleKeypoints(mask, 300, 1));
  EXPECT_NE(a, SampleKeypoints(mask, 300, 2));
  Mask seen(80, 64);
  for (const auto& uv : a) {
    EXPECT_EQ(seen(uv.x(), uv.y()), 0);
    seen(uv.x(), uv.y()) = 1;
  }
}

}  // namespace
}  // namespace lumen
