// Export, Assign, Remove, DropTable and their replies.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

// Two rows of 1 weight and 2 numbers of state.
class WholeRowMessagesTest : public testing::Test {
 protected:
  WholeRowMessagesTest() {
    export_.table = 0xaabb;
    export_.cursor.shard = 3;
    export_.cursor.position = 4;
    export_.cursor.owners = 10;
    export_.max_rows = 5;
    export_.route = 11;
    export_.dim = 1;
    export_.state_size = 2;
    export_.page = {ids_, weights_, state_, {{6, 7}, {0, 8}}, UseTime::kSteps};
    assign_.table = 0xaabb;
    assign_.route = 12;
    assign_.dim = 1;
    assign_.state_size = 2;
    assign_.ids = ids_;
    assign_.weights = weights_;
    assign_.state = state_;
    remove_.table = 0xaabb;
    remove_.route = 13;
    remove_.ids = ids_;
    remove_.removed = 7;
    drop_.table = 0xaabb;
    drop_.drop_id = 9;
    drop_.stays = true;
  }

  const std::vector<int64_t> ids_ = {1, -1};
  const std::vector<float> weights_ = {1, 2};
  const std::vector<float> state_ = {3, 4, 1, 2};
  ExportRequest export_;
  AssignRequest assign_;
  RemoveRequest remove_;
  DropTableRequest drop_;
};

constexpr char kRows[] =
    "0200000000000000\n0100000000000000\nffffffffffffffff\n"
    "0000803f00000040\n"
    "0000404000008040\n0000803f00000040";

TEST_F(WholeRowMessagesTest, ExportHasTheseBytes) {
  ExpectBytes(export_,
              "bbaa000000000000\n0400000000000000\n0a00000000000000\n"
              "0300000000000000\n0500000000000000\n0b00000000000000");
}

TEST_F(WholeRowMessagesTest, ExportReplyHasTheseBytes) {
  ExpectReplyBytes(export_, std::string("0400000000000000\n0a00000000000000\n"
                                        "0300000001000000\n"
                                        "0200000001000000\n") +
                                kRows + "\n0600000007000000\n0000000008000000");
}

TEST_F(WholeRowMessagesTest, ExportReplyOfATableWithoutUsesHasNone) {
  export_.page.use_time = UseTime::kNone;
  export_.page.uses.clear();
  ExpectReplyBytes(export_, std::string("0400000000000000\n"
                                        "0a00000000000000\n"
                                        "0300000001000000\n"
                                        "0200000000000000\n") +
                                kRows);
}

TEST_F(WholeRowMessagesTest, ExportReplyOfAnUnknownTimeIsRefused) {
  export_.page.use_time = static_cast<UseTime>(3);
  const Status status = ReceivedReply(export_);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "a page of rows has ages in the unknown unit 3");
}

TEST_F(WholeRowMessagesTest, AssignHasTheseBytes) {
  ExpectBytes(assign_, std::string("bbaa000000000000\n0c00000000000000\n"
                                   "0100000002000000\n") +
                           kRows);
}

TEST_F(WholeRowMessagesTest, AssignReplyHasNoBody) {
  ExpectReplyBytes(AssignRequest(), "");
}

TEST_F(WholeRowMessagesTest, RemoveHasTheseBytes) {
  ExpectBytes(remove_,
              "bbaa000000000000\n0d00000000000000\n0200000000000000\n"
              "0100000000000000\nffffffffffffffff");
}

TEST_F(WholeRowMessagesTest, RemoveReplyHasTheseBytes) {
  ExpectReplyBytes(remove_, "0700000000000000");
}

TEST_F(WholeRowMessagesTest, DropTableHasTheseBytes) {
  ExpectBytes(drop_, "bbaa000000000000\n0900000000000000\n0100000000000000");
  ExpectReplyBytes(DropTableRequest(), "");
}

TEST_F(WholeRowMessagesTest, RowsWithoutStateAndNoRowsComeBack) {
  assign_.state_size = 0;
  assign_.state = {};
  AssignRequest back;
  EXPECT_TRUE(
      DecodeRequest(Body(EncodeRequest(1, assign_)).bytes(), &back).ok());
  EXPECT_TRUE(back.state.empty());
  export_.page = RowPage();
  ExportRequest page;
  EXPECT_TRUE(DecodeReply(Body(EncodeReply(1, export_)).bytes(), &page).ok());
  EXPECT_TRUE(page.page.ids.empty());
}

TEST_F(WholeRowMessagesTest, AssignReplyWithABodyIsRefused) {
  EXPECT_TRUE(AsReply<AssignRequest>(ConstBytes()).ok());
  EXPECT_EQ(
      AsReply<AssignRequest>(Body(EncodeReply(1, remove_)).bytes()).code(),
      Code::kDataLoss);
}

// The message with the 8 bytes at `at` replaced.
Status With(const OutFrame& frame, size_t at, uint64_t value,
            Status (*decode)(ConstBytes)) {
  std::vector<uint8_t> bytes = Body(frame).copy();
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return decode(Body(bytes).bytes());
}

TEST_F(WholeRowMessagesTest, CountsBeyondTheBodyAreRefused) {
  constexpr size_t kExportReplyAt = 32, kAssignAt = 24, kRemoveAt = 16;
  for (const uint64_t count :
       {uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 61, uint64_t{1} << 63,
        std::numeric_limits<uint64_t>::max()}) {
    EXPECT_EQ(With(EncodeReply(1, export_), kExportReplyAt, count,
                   AsReply<ExportRequest>)
                  .code(),
              Code::kDataLoss)
        << count;
    EXPECT_EQ(With(EncodeRequest(1, assign_), kAssignAt, count,
                   AsRequest<AssignRequest>)
                  .code(),
              Code::kDataLoss)
        << count;
    EXPECT_EQ(With(EncodeRequest(1, remove_), kRemoveAt, count,
                   AsRequest<RemoveRequest>)
                  .code(),
              Code::kDataLoss)
        << count;
  }
}

TEST_F(WholeRowMessagesTest, WidthsBeyondTheBodyAreRefused) {
  constexpr uint32_t kMost = kMaxDim;
  assign_.dim = export_.dim = kMost;
  EXPECT_EQ(Received(assign_).code(), Code::kDataLoss);
  EXPECT_EQ(ReceivedReply(export_).code(), Code::kDataLoss);
}

TEST_F(WholeRowMessagesTest, WidthsOutOfRangeAreRefused) {
  for (const uint32_t dim : {0u, kMaxDim + 1, 0xffffffffu}) {
    assign_.dim = export_.dim = dim;
    EXPECT_EQ(Received(assign_).code(), Code::kInvalidArgument);
    EXPECT_EQ(ReceivedReply(export_).code(), Code::kInvalidArgument);
  }
  assign_.dim = export_.dim = 1;
  assign_.state_size = export_.state_size = 0xffffffffu;
  EXPECT_EQ(Received(assign_).code(), Code::kInvalidArgument);
  EXPECT_EQ(ReceivedReply(export_).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
