#include "lumen/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

namespace lumen {
namespace {

TEST(Parallel, EveryIndexIsVisitedOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> visits(1000);
    ParallelFor(1000, threads, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, OrderedReduceIsBitIdenticalForAnyThreadCount) {
  const auto sum = [](int threads) {
    return OrderedReduce(100000, 97, threads, 0.0F, [](int64_t begin, int64_t end) {
      float part = 0;
      for (int64_t i = begin; i < end; ++i) part += std::sin(static_cast<float>(i)) * 1e3F;
      return part;
    });
  };
  const float one = sum(1);
  EXPECT_EQ(sum(2), one);
  EXPECT_EQ(sum(7), one);
}

TEST(Parallel, ExceptionOfTheLowestChunkComesOut) {
  try {
    ParallelFor(100, 4, [](int64_t i) {
      if (i == 17 || i == 60) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "17");
  }
}

TEST(Parallel, NothingToDoIsFine) {
  ParallelFor(0, 3, [](int64_t) { FAIL(); });
  EXPECT_EQ(OrderedReduce(0, 10, 3, 5, [](int64_t, int64_t) { return 1; }), 5);
}

}  // namespace
}  // namespace lumen
