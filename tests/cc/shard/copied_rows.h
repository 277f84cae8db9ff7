// A shard's changes, as one that takes slots over receives them.

#ifndef PERSIA_TESTS_CC_SHARD_COPIED_ROWS_H_
#define PERSIA_TESTS_CC_SHARD_COPIED_ROWS_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "cc/following/followers.h"
#include "tests/cc/shard/shard_parts.h"

namespace persia {

class CopiedRows {
 public:
  // `owner` must outlive this object.
  CopiedRows(ShardParts* owner, const SlotSet& slots)
      : followers_({&owner->store, [] { return uint64_t{0}; }}),
        slots_(slots) {}

  // All changes since the last call. The first call returns all rows.
  ChangesRequest Take() {
    ChangesRequest request;
    request.position = position_;
    request.max_rows = 1'000'000;
    request.whole_rows = true;
    request.slots = slots_;
    const Status told = followers_.Tell(&request);
    EXPECT_TRUE(told.ok()) << told.message();
    EXPECT_TRUE(request.complete);
    position_ = request.position;
    return request;
  }

 private:
  Followers followers_;
  const SlotSet slots_;
  FollowPosition position_{9};
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_COPIED_ROWS_H_
