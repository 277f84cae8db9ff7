#include "cc/pipeline/callback_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

namespace persia {
namespace {

TEST(CallbackThreads, RunsOnAnotherThread) {
  CallbackThreads threads;
  std::promise<std::thread::id> thread;
  threads.Run([&] { thread.set_value(std::this_thread::get_id()); });
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
}

TEST(CallbackThreads, ACallbackMayWaitForLaterOnes) {
  CallbackThreads threads;
  constexpr int kWaiting = 8;
  std::promise<void> last;
  const std::shared_future<void> last_ran = last.get_future().share();
  std::atomic<int> finished{0};
  for (int i = 0; i < kWaiting; ++i) {
    threads.Run([&finished, last_ran] {
      last_ran.wait();
      ++finished;
    });
  }
  threads.Run([&] { last.set_value(); });
  last_ran.wait();
}

TEST(CallbackThreads, ACallbackMayRunAnother) {
  CallbackThreads threads;
  std::promise<void> inner;
  threads.Run([&] { threads.Run([&] { inner.set_value(); }); });
  inner.get_future().wait();
}

TEST(CallbackThreads, CapturesMayRunACallbackAsTheyEnd) {
  CallbackThreads threads;
  std::promise<void> ran;
  std::shared_ptr<void> capture(
      nullptr, [&](void*) { threads.Run([&] { ran.set_value(); }); });
  threads.Run([capture = std::move(capture)] {});
  ran.get_future().wait();
}

TEST(CallbackThreads, EndsOnlyWhenAllHaveRun) {
  std::atomic<int> ran{0};
  constexpr int kCallbacks = 100;
  {
    CallbackThreads threads;
    for (int i = 0; i < kCallbacks; ++i) threads.Run([&] { ++ran; });
  }
  EXPECT_EQ(ran, kCallbacks);
}

}  // namespace
}  // namespace persia
