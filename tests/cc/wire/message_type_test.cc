#include "cc/wire/message_type.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

template <typename Request>
uint16_t Number() {
  EXPECT_EQ(static_cast<int>(kReplyType<Request>),
            static_cast<int>(kRequestType<Request>) + 1);
  return static_cast<uint16_t>(kRequestType<Request>);
}

TEST(MessageTypeTest, RequestsHaveTheseNumbers) {
  EXPECT_EQ(Number<CreateTableRequest>(), 2);
  EXPECT_EQ(Number<LookupRequest>(), 4);
  EXPECT_EQ(Number<UpdateRequest>(), 6);
  EXPECT_EQ(Number<StatsRequest>(), 8);
  EXPECT_EQ(Number<ExportRequest>(), 10);
  EXPECT_EQ(Number<AssignRequest>(), 12);
  EXPECT_EQ(Number<RemoveRequest>(), 14);
  EXPECT_EQ(Number<CheckpointRequest>(), 16);
  EXPECT_EQ(Number<ChangesRequest>(), 18);
  EXPECT_EQ(Number<DropTableRequest>(), 20);
  EXPECT_EQ(Number<FilesRequest>(), 22);
  EXPECT_EQ(Number<TopologyRequest>(), 24);
  EXPECT_EQ(Number<HandOverRequest>(), 26);
  EXPECT_EQ(Number<MoveRequest>(), 28);
  EXPECT_EQ(Number<StandbyRequest>(), 30);
  EXPECT_EQ(Number<SlotLoadsRequest>(), 32);
  EXPECT_EQ(kRequestCount, 16u);
}

TEST(MessageTypeTest, OnlyRequestsAndTheirRepliesAreThose) {
  for (uint16_t number = 0; number < 200; ++number) {
    const auto type = static_cast<MessageType>(number);
    const bool is_either = number >= 2 && number < 34;
    EXPECT_EQ(IsRequest(type), is_either && number % 2 == 0) << number;
    EXPECT_EQ(IsReply(type), is_either && number % 2 == 1) << number;
  }
}

}  // namespace
}  // namespace persia
