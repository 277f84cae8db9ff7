// What must not happen while a thread is inside a gate.

#ifndef PERSIA_TESTS_CC_SHARD_INSIDE_GATE_H_
#define PERSIA_TESTS_CC_SHARD_INSIDE_GATE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "cc/base/status.h"
#include "cc/saving/gate.h"

namespace persia {

// Calls `work` on another thread, while this thread is inside the gate. Expects
// that `unchanged()` stays what it is until this thread, which calls `last` at
// the end, has left. However long the other thread takes, that must hold; the
// longer it is watched, the surer it is that the other thread would have broken
// it.
template <typename Work, typename Get>
void ExpectNoChangeInside(
    Gate* gate, const Work& work, const Get& unchanged,
    const std::function<void()>& last = [] {}) {
  std::atomic<bool> begun{false};
  std::future<Status> outcome;
  {
    const Gate::Pass pass(gate);
    const auto before = unchanged();
    outcome = std::async(std::launch::async, [&] {
      begun = true;
      return work();
    });
    while (!begun) std::this_thread::yield();
    for (int look = 0; look < 1000; ++look) {
      ASSERT_EQ(unchanged(), before);
      std::this_thread::yield();
    }
    last();
  }
  const Status status = outcome.get();
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_INSIDE_GATE_H_
