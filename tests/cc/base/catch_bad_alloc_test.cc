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

}  // namespace
}  // namespace persia
