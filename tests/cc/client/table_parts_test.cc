// What the shards' answers about their parts of a table say together.

#include "cc/client/table_parts.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

constexpr auto kAbsent = TableState::kAbsent;
constexpr auto kPrepared = TableState::kPrepared;
constexpr auto kComplete = TableState::kComplete;

TablePart Part(TableState state, uint64_t identity, uint64_t generation = 0) {
  TablePart part;
  part.shard = Concat("shard ", identity);
  part.reply.state = state;
  part.reply.identity = identity;
  part.reply.generation = generation;
  return part;
}

TEST(TablePartsTest, WhatIsNowhereCompleteBelongsTogether) {
  for (const TableParts& parts :
       {TableParts{Part(kAbsent, 0), Part(kAbsent, 0)},
        TableParts{Part(kAbsent, 0), Part(kPrepared, 1)},
        TableParts{Part(kPrepared, 1), Part(kPrepared, 2)}}) {
    EXPECT_TRUE(BelongTogether(parts));
    EXPECT_FALSE(AnyIsComplete(parts));
    EXPECT_NE(JointState(parts), kComplete);
  }
}

TEST(TablePartsTest, WhatIsCompleteAnywhereIsOneTableOrNone) {
  const TableParts whole = {Part(kComplete, 3), Part(kComplete, 3)};
  EXPECT_TRUE(BelongTogether(whole));
  EXPECT_EQ(JointState(whole), kComplete);
  EXPECT_EQ(JointIdentity(whole), 3u);
  const TableParts almost = {Part(kComplete, 3), Part(kPrepared, 3)};
  EXPECT_TRUE(BelongTogether(almost));
  EXPECT_EQ(JointState(almost), kPrepared);
  EXPECT_FALSE(BelongTogether({Part(kComplete, 3), Part(kAbsent, 0)}));
  EXPECT_FALSE(BelongTogether({Part(kComplete, 3), Part(kComplete, 4)}));
  EXPECT_FALSE(BelongTogether({Part(kPrepared, 4), Part(kComplete, 3)}));
}

TEST(TablePartsTest, ReplicasSayNoIdentity) {
  const TableParts parts = {Part(kComplete, 0), Part(kComplete, 0)};
  EXPECT_TRUE(BelongTogether(parts));
  EXPECT_EQ(JointIdentity(parts), 0u);
}

TEST(TablePartsTest, ARestoreIsAReasonWhereGenerationsDiffer) {
  const std::string reason = "if a restore is in progress, try again after it";
  const Status lost =
      PartsError("t", {Part(kComplete, 3, 1), Part(kAbsent, 0, 1)});
  EXPECT_EQ(lost.message().find(reason), std::string::npos);
  const Status restored =
      PartsError("t", {Part(kComplete, 3, 1), Part(kComplete, 4, 2)});
  EXPECT_NE(restored.message().find(reason), std::string::npos);
}

}  // namespace
}  // namespace persia
