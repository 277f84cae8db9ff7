#include "cc/pipeline/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace persia {
namespace {

TEST(ParallelFor, CallsForEachNumberOnce) {
  CallbackThreads threads;
  for (const size_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    ParallelFor(&threads, count, [&](size_t i) { ++calls[i]; });
    for (const auto& times : calls) EXPECT_EQ(times, 1);
  }
}

TEST(ParallelFor, WithoutThreadsCallsOnTheCallersInOrder) {
  std::vector<size_t> calls;
  ParallelFor(nullptr, 3, [&](size_t i) { calls.push_back(i); });
  EXPECT_EQ(calls, (std::vector<size_t>{0, 1, 2}));
}

TEST(ParallelFor, UsesOtherThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP();
  CallbackThreads threads;
  std::mutex mutex;
  std::condition_variable both;
  int running = 0;
  // Each call waits for the other one.
  ParallelFor(&threads, 2, [&](size_t) {
    std::unique_lock<std::mutex> lock(mutex);
    ++running;
    both.notify_all();
    both.wait(lock, [&] { return running == 2; });
  });
  EXPECT_EQ(running, 2);
}

TEST(ParallelFor, MayBeCalledInACallback) {
  std::atomic<int> calls{0};
  {
    CallbackThreads threads;
    for (int t = 0; t < 20; ++t) {
      threads.Run([&] { ParallelFor(&threads, 10, [&](size_t) { ++calls; }); });
    }
  }
  EXPECT_EQ(calls, 200);
}

TEST(ParallelFor, ThrowsWhatACallThrowsOnceAllHaveEnded) {
  CallbackThreads threads;
  std::atomic<int> calls{0};
  const auto work = [&](size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(ParallelFor(&threads, 10, work), std::runtime_error);
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace persia
