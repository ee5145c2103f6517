#include "lumen/base/prefetch.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lumen {
namespace {

TEST(PrefetchWorker, ItemsArriveInOrderThenNothing) {
  int next = 0;
  Prefetcher<int> prefetcher(
      3, [&]() -> std::optional<int> { return next < 100 ? std::optional(next++) : std::nullopt; });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(prefetcher.Next(), i);
  EXPECT_EQ(prefetcher.Next(), std::nullopt);
  EXPECT_EQ(prefetcher.Next(), std::nullopt);
}

TEST(PrefetchWorker, FailureComesAfterTheItemsBeforeIt) {
  int next = 0;
  Prefetcher<int> prefetcher(2, [&]() -> std::optional<int> {
    if (next == 5) throw std::runtime_error("five");
    return next++;
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(prefetcher.Next(), i);
  EXPECT_THROW(prefetcher.Next(), std::runtime_error);
}

TEST(PrefetchWorker, CanBeDroppedEarly) {
  Prefetcher<int> prefetcher(1, []() -> std::optional<int> { return 1; });
  EXPECT_EQ(prefetcher.Next(), 1);
}

}  // namespace
}  // namespace lumen
