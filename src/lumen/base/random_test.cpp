#include "lumen/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lumen {
namespace {

TEST(Random, SameSeedSameNumbersOnEveryPlatform) {
  Random random(42);
  EXPECT_EQ(random.NextBits(), 0x57e1faba65107204ULL);
}

TEST(Random, SplitStreamsDependOnNameAndSeedOnly) {
  Random a(1);
  const uint64_t first = Random(1).Split("noise").NextBits();
  a.NextBits();
  EXPECT_EQ(a.Split("noise").NextBits(), first);
  EXPECT_NE(a.Split("path").NextBits(), first);
  EXPECT_NE(Random(2).Split("noise").NextBits(), first);
}

TEST(Random, MomentsAreRight) {
  Random random(5);
  double sum = 0, squares = 0, uniform = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double n = random.Normal();
    sum += n;
    squares += n * n;
    uniform += random.Uniform();
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
}

TEST(Random, UniformIntReachesBothEndsEqually) {
  Random random(6);
  std::vector<int> counts(5);
  for (int i = 0; i < 50000; ++i) ++counts[static_cast<size_t>(random.UniformInt(-2, 2) + 2)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(Random, ShuffleKeepsTheItems) {
  std::vector<int> items = {1, 2, 3, 4, 5, 6, 7, 8};
  Random(9).Shuffle(items);
  EXPECT_NE(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace lumen
