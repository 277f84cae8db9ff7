#include "cc/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace persia {
namespace {

TEST(BoundedQueue, KeepsOrder) {
  BoundedQueue<int> queue(3);
  for (const int item : {1, 2, 3}) EXPECT_TRUE(queue.Push(item));
  for (const int item : {1, 2, 3}) EXPECT_EQ(queue.Pop(), item);
}

TEST(BoundedQueue, DrainsAfterClose) {
  BoundedQueue<int> queue(2);
  queue.Push(1);
  queue.Close();
  queue.Close();
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, TakesItemsThatOnlyMove) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.Push(std::make_unique<int>(7));
  EXPECT_EQ(**queue.Pop(), 7);
}

TEST(BoundedQueue, CloseWakesAWaitingPop) {
  BoundedQueue<int> queue(1);
  auto popped = std::async(std::launch::async, [&] { return queue.Pop(); });
  queue.Close();
  EXPECT_EQ(popped.get(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesAWaitingPush) {
  BoundedQueue<int> queue(1);
  queue.Push(1);
  auto pushed = std::async(std::launch::async, [&] { return queue.Push(2); });
  queue.Close();
  EXPECT_FALSE(pushed.get());
}

TEST(BoundedQueue, HandsEachItemToOneConsumer) {
  constexpr int kProducers = 2, kConsumers = 2, kItems = 2000;
  BoundedQueue<int> queue(4);
  std::vector<std::future<int64_t>> consumers;
  for (int c = 0; c < kConsumers; ++c) {
    consumers.push_back(std::async(std::launch::async, [&] {
      int64_t sum = 0;
      while (const std::optional<int> item = queue.Pop()) sum += *item;
      return sum;
    }));
  }
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&] {
      for (int i = 1; i <= kItems; ++i) queue.Push(i);
    });
  }
  for (std::thread& producer : producers) producer.join();
  queue.Close();
  int64_t sum = 0;
  for (auto& consumer : consumers) sum += consumer.get();
  EXPECT_EQ(sum, int64_t{kProducers} * kItems * (kItems + 1) / 2);
}

}  // namespace
}  // namespace persia
