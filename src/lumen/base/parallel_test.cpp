#include "lumen/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "lumen/base/core_share.h"
#include "lumen/base/step_back.h"

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

TEST(Parallel, CallsInsideCallsAndFromSeveralThreadsEndWithEverythingDone) {
  std::atomic<int> done{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ParallelFor(4, 3, [&](int64_t) { ParallelFor(5, 2, [&](int64_t) { ++done; }); });
      }
    });
  }
  callers.clear();  // joins
  EXPECT_EQ(done, 3 * 200 * 4 * 5);
}

TEST(Parallel, HelpersThatSleptComeBack) {
  for (int round = 0; round < 3; ++round) {
    std::set<std::thread::id> workers;
    std::mutex mutex;
    std::barrier meeting(3);  // passes only if three threads are there at once
    ParallelFor(3, 3, [&](int64_t) {
      meeting.arrive_and_wait();
      const std::lock_guard lock(mutex);
      workers.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(workers.size(), 3U);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Parallel, ACallAfterAnExceptionRunsAsUsual) {
  EXPECT_THROW(ParallelFor(8, 2, [](int64_t) { throw std::runtime_error("each"); }), std::runtime_error);
  std::atomic<int> done{0};
  ParallelFor(8, 2, [&](int64_t) { ++done; });
  EXPECT_EQ(done, 8);
}

// Helpers of a thread that lets others go first do so too, and nobody else gets them.
TEST(Parallel, HelpersHaveTheirCallersPriority) {
  const auto others = [] {  // how many chunks ran on a thread that has stepped back
    std::atomic<int> stepped_back{0};
    std::atomic<int> begun{0};
    ParallelFor(4, 4, [&](int64_t) {
      ++begun;
      while (begun < 4) std::this_thread::yield();  // so that each has a thread of its own
      stepped_back += HasSteppedBack() ? 1 : 0;
    });
    return stepped_back.load();
  };
  for (int round = 0; round < 3; ++round) {
    int behind = -1;
    std::thread([&] {
      StepBack();
      behind = others();
    }).join();
    EXPECT_EQ(behind, 4);
    EXPECT_EQ(others(), 0);
  }
}

TEST(Parallel, AShareOfTheCoresIsAllThereIs) {
  const int all = AvailableCores();
  LimitCores(1);
  EXPECT_EQ(AvailableCores(), 1);
  LimitCores(all + 1);
  EXPECT_EQ(AvailableCores(), all);
}

TEST(Parallel, NothingToDoIsFine) {
  ParallelFor(0, 3, [](int64_t) { FAIL(); });
  EXPECT_EQ(OrderedReduce(0, 10, 3, 5, [](int64_t, int64_t) { return 1; }), 5);
}

}  // namespace
}  // namespace lumen
