// Outcome: the result of a service call that ends when the test says so.

#ifndef PERSIA_TESTS_CC_SERVICE_OUTCOME_H_
#define PERSIA_TESTS_CC_SERVICE_OUTCOME_H_

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "cc/service/embedding_service.h"

namespace persia {

// Not thread-safe: the call must end on the thread of the test.
struct Outcome {
  std::optional<Status> status;  // Once there is one.

  // To be passed to one call; the Outcome must outlive the call.
  DoneCallback done() {
    return [this](Status ended) {
      EXPECT_FALSE(status.has_value()) << "done was called twice";
      status = std::move(ended);
    };
  }
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_OUTCOME_H_
