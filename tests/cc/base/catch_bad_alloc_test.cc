#include "cc/base/catch_bad_alloc.h"

#include <gtest/gtest.h>

#include <new>

namespace persia {
namespace {

TEST(CatchBadAlloc, GivesWhatTheWorkReturns) {
  EXPECT_TRUE(CatchBadAlloc([] { return Status(); }).ok());
  EXPECT_EQ(CatchBadAlloc([] { return InvalidArgument("x"); }).message(), "x");
  EXPECT_EQ(CatchBadAlloc([] { return Result<int>(3); }).value(), 3);
}

TEST(CatchBadAlloc, MemoryThatRunsOutIsAnError) {
  const Status status =
      CatchBadAlloc([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  const Result<int> result =
      CatchBadAlloc([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_EQ(result.status().code(), Code::kResourceExhausted);
}

TEST(CatchBadAlloc, TheMemoryLimitIsAnErrorThatSaysWhatToDo) {
  const Status status =
      CatchBadAlloc([]() -> Status { throw MemoryLimitReached(1000, 999); });
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(
      status.message(),
      "the memory limit of 1000 bytes leaves no room for more rows, since "
      "999 are in use: raise --memory-limit, spread rows over more shards, or "
      "give tables a capacity and an eviction");
}

}  // namespace
}  // namespace persia
