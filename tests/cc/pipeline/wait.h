// Waiting in tests: on conditions, with a deadline that only a hang reaches.

#ifndef PERSIA_TESTS_CC_PIPELINE_WAIT_H_
#define PERSIA_TESTS_CC_PIPELINE_WAIT_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/cc/support/call_result.h"

namespace persia {

// Waits until `holds`; fails the test, saying `what`, if that never comes.
template <typename Condition>
bool WaitUntil(std::unique_lock<std::mutex>* lock,
               std::condition_variable* changed, const char* what,
               const Condition& holds) {
  const bool held = changed->wait_for(*lock, kHang, holds);
  if (!held) ADD_FAILURE() << "waited in vain for " << what;
  return held;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_WAIT_H_
