#include "lumen/base/queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lumen {
namespace {

TEST(Queue, ItemsComeOutInOrder) {
  BoundedQueue<int> queue(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.Push(i));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(Queue, FullQueueRefusesTryPush) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_EQ(queue.Size(), 1U);
}

TEST(Queue, ClosedQueueDrainsThenEnds) {
  BoundedQueue<int> queue(4);
  queue.Push(1);
  queue.Close();
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(Queue, FullQueueMakesTheProducerWaitAndLosesNothing) {
  BoundedQueue<int> queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) queue.Push(i);
    queue.Close();
  });
  int expected = 0;
  while (const auto item = queue.Pop()) EXPECT_EQ(*item, expected++);
  EXPECT_EQ(expected, 1000);
  producer.join();
}

TEST(Queue, CloseWakesAWaitingProducerAndConsumer) {
  BoundedQueue<int> full(1);
  full.Push(0);
  BoundedQueue<int> empty(1);
  std::thread producer([&] { EXPECT_FALSE(full.Push(1)); });
  std::thread consumer([&] { EXPECT_EQ(empty.Pop(), std::nullopt); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  full.Close();
  empty.Close();
  producer.join();
  consumer.join();
}

}  // namespace
}  // namespace lumen
