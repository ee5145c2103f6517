#include "lumen/base/worker.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace lumen {
namespace {

TEST(Worker, HandsItemsToTheStageInOrderAndDrainsOnFinish) {
  std::vector<int> seen;
  Worker<int> worker(3, [&](int item) { seen.push_back(item); });
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(worker.Submit(i));
  worker.Finish();
  ASSERT_EQ(seen.size(), 500U);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(Worker, FailureOfTheStageStopsItAndComesOutOfFinish) {
  Worker<int> worker(1, [](int item) {
    if (item == 3) throw std::runtime_error("three");
  });
  int accepted = 0;
  while (accepted < 1000 && worker.Submit(accepted)) ++accepted;
  EXPECT_LT(accepted, 1000);
  EXPECT_THROW(worker.Finish(), std::runtime_error);
}

TEST(Worker, AFailureStopsTheStageBeforeItToo) {
  std::unique_ptr<Worker<int>> first;
  Worker<int> second(
      1, [](int) { throw std::runtime_error("second"); }, [&] { first->Abandon(); });
  first = std::make_unique<Worker<int>>(1, [&](int item) { second.Submit(item); });
  int accepted = 0;
  while (accepted < 1000000 && first->Submit(accepted)) ++accepted;
  EXPECT_LT(accepted, 1000000);
  EXPECT_TRUE(second.Failed());
  EXPECT_FALSE(first->Failed());
  first->Finish();
  EXPECT_THROW(second.Finish(), std::runtime_error);
  EXPECT_TRUE(second.Failed()) << "telling of it does not undo it";
}

TEST(Worker, WhatIsAbandonedIsNotWorkedOn) {
  BoundedQueue<int> gate(1);
  std::vector<int> seen;
  Worker<int> worker(3, [&](int item) {
    seen.push_back(item);
    gate.Pop();
  });
  for (int i = 0; i < 4; ++i) worker.Submit(i);  // one in hand, three wait
  EXPECT_FALSE(worker.HasRoom());
  worker.Abandon();
  EXPECT_FALSE(worker.Submit(4));
  gate.Close();
  worker.Finish();
  EXPECT_EQ(seen, std::vector<int>{0});
}

TEST(Worker, DestructionWithoutFinishIsClean) {
  int sum = 0;
  {
    Worker<int> worker(10, [&](int item) { sum += item; });
    worker.Submit(1);
    worker.Submit(2);
  }
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace lumen
