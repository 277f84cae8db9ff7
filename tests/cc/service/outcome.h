// Outcome: what became of a call of a service whose test decides when it ends.

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

  // To be given to one call, which this must outlive.
  DoneCallback done() {
    return [this](Status ended) {
      EXPECT_FALSE(status.has_value()) << "done was called twice";
      status = std::move(ended);
    };
  }
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_OUTCOME_H_
