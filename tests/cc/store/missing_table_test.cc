#include "cc/store/missing_table.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

constexpr TableKey kKey = ~TableKey{0};

Status Behind(const std::string& prefix, const Status& status) {
  return Status(status.code(), prefix + status.message());
}

TEST(MissingTableTest, ItsKeyIsFoundBehindWhatOthersPutBefore) {
  const Status status = MissingTable(kKey);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(MissingTableKey(status), kKey);
  EXPECT_EQ(MissingTableKey(Behind("shard 0 of 2 (a:1): ", status)), kKey);
}

TEST(MissingTableTest, OtherErrorsHaveNoKey) {
  EXPECT_EQ(MissingTableKey(Status()), std::nullopt);
  EXPECT_EQ(MissingTableKey(Status(Code::kNotFound, "no such file")),
            std::nullopt);
  EXPECT_EQ(
      MissingTableKey(Status(Code::kNotFound, "no table has key nothing")),
      std::nullopt);
  EXPECT_EQ(
      MissingTableKey(Status(Code::kInternal, MissingTable(kKey).message())),
      std::nullopt);
}

TEST(MissingTableTest, OnAShardItIsToldByNameWithTheCauseAndTheRemedy) {
  const Status named = NamedMissingTable(
      Behind("shard 0 of 2 (a:1): ", MissingTable(kKey)), "user");
  EXPECT_EQ(named.code(), Code::kNotFound);
  EXPECT_EQ(named.message().rfind(
                "shard 0 of 2 (a:1): table \"user\" is not there any more: the "
                "shard was restarted without its rows, or the table was "
                "dropped. Restore its rows by ptf.checkpoint.restore;",
                0),
            0u)
      << named.message();
  EXPECT_NE(named.message().find("`persia table drop user`"), std::string::npos)
      << named.message();
}

TEST(MissingTableTest, InThisProcessItCanOnlyHaveBeenDropped) {
  EXPECT_EQ(NamedMissingTable(MissingTable(kKey), "user").message(),
            "table \"user\" is not there any more: it was dropped. Build the "
            "model again, which creates it again");
}

}  // namespace
}  // namespace persia
