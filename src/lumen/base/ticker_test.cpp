#include "lumen/base/ticker.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "lumen/base/first_failure.h"
#include "lumen/base/queue.h"

namespace lumen {
namespace {

using std::chrono::milliseconds;

TEST(Ticker, CallsAgainAndAgainUntilItIsStopped) {
  BoundedQueue<int> calls(1);
  int count = 0;
  Ticker ticker(milliseconds(1), [&] { calls.Push(++count); });
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(calls.Pop(), i);
  calls.Close();
  ticker.Stop();
  const int called = count;
  EXPECT_GE(called, 5);
  ticker.Check();
}

TEST(Ticker, StopDoesNotWaitForTheNextCall) {
  Ticker ticker(std::chrono::hours(10), [] { FAIL(); });
  ticker.Stop();
}

TEST(Ticker, WhatItThrewIsThrownWheneverItIsAskedFor) {
  int count = 0;
  Ticker ticker(milliseconds(1), [&] {
    ++count;
    throw std::runtime_error("no");
  });
  const auto asked = [&] { ticker.Check(); };
  while (true) {
    try {
      asked();
    } catch (const std::runtime_error&) {
      break;
    }
  }
  ticker.Stop();
  EXPECT_THROW(asked(), std::runtime_error);
  EXPECT_EQ(count, 1);
}

TEST(FirstFailure, AllIsTriedAndTheFirstFaultIsTold) {
  FirstFailure failure;
  int tried = 0;
  failure.Try([&] { ++tried; });
  EXPECT_FALSE(failure);
  EXPECT_EQ(failure.Reason(), "");
  failure.Rethrow();
  failure.Try([&] { throw std::runtime_error("first"); });
  failure.Try([&] { throw std::logic_error("second"); });
  failure.Try([&] { ++tried; });
  EXPECT_EQ(tried, 2);
  EXPECT_EQ(failure.Reason(), "first");
  EXPECT_THROW(failure.Rethrow(), std::runtime_error);
}

}  // namespace
}  // namespace lumen
