// Export, Assign, Remove, DropTable and their replies.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

// Two rows of 1 weight and 2 numbers of state.
class WholeRowMessagesTest : public testing::Test {
 protected:
  WholeRowMessagesTest() {
    export_.table = 0xaabb;
    export_.cursor.shard = 3;
    export_.cursor.position = 4;
    export_.max_rows = 5;
    export_.dim = 1;
    export_.state_size = 2;
    export_.page = {ids_, weights_, state_, {{6, 7}, {0, 8}}, UseTime::kSteps};
    assign_.table = 0xaabb;
    assign_.dim = 1;
    assign_.state_size = 2;
    assign_.ids = ids_;
    assign_.weights = weights_;
    assign_.state = state_;
    remove_.table = 0xaabb;
    remove_.ids = ids_;
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

Status AsExportReply(ConstBytes body) {
  ExportRequest request;
  return DecodeExportReply(body, &request);
}

TEST_F(WholeRowMessagesTest, ExportHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeExport(1, export_)).bytes()),
            "bbaa000000000000\n0400000000000000\n0300000000000000\n"
            "0500000000000000");
}

TEST_F(WholeRowMessagesTest, ExportReplyHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeExportReply(1, export_)).bytes()),
            std::string("0400000000000000\n0300000001000000\n"
                        "0200000001000000\n") +
                kRows + "\n0600000007000000\n0000000008000000");
}

TEST_F(WholeRowMessagesTest, ExportReplyOfATableWithoutUsesHasNone) {
  export_.page.use_time = UseTime::kNone;
  export_.page.uses.clear();
  const Body body(EncodeExportReply(1, export_));
  EXPECT_EQ(Hex(body.bytes()), std::string("0400000000000000\n"
                                           "0300000001000000\n"
                                           "0200000000000000\n") +
                                   kRows);
  ExportRequest back;
  ASSERT_TRUE(DecodeExportReply(body.bytes(), &back).ok());
  EXPECT_EQ(back.page.ids, ids_);
  EXPECT_TRUE(back.page.uses.empty());
}

TEST_F(WholeRowMessagesTest, ExportReplyOfAnUnknownTimeIsRefused) {
  export_.page.use_time = static_cast<UseTime>(3);
  const Status status =
      AsExportReply(Body(EncodeExportReply(1, export_)).bytes());
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(
      status.message(),
      "a page of rows tells ages in 3, which is neither steps nor seconds");
}

TEST_F(WholeRowMessagesTest, AssignHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeAssign(1, assign_)).bytes()),
            std::string("bbaa000000000000\n0100000002000000\n") + kRows);
}

TEST_F(WholeRowMessagesTest, AssignReplyHasNoBody) {
  EXPECT_TRUE(Body(EncodeAssignReply(1)).bytes().empty());
}

TEST_F(WholeRowMessagesTest, RemoveHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeRemove(1, remove_)).bytes()),
            "bbaa000000000000\n0200000000000000\n"
            "0100000000000000\nffffffffffffffff");
}

TEST_F(WholeRowMessagesTest, RemoveReplyHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeRemoveReply(1, 7)).bytes()), "0700000000000000");
}

TEST_F(WholeRowMessagesTest, ExportComesBackWhole) {
  ExportRequest back;
  ASSERT_TRUE(DecodeExport(Body(EncodeExport(1, export_)).bytes(), &back).ok());
  EXPECT_EQ(back.table, 0xaabbu);
  EXPECT_EQ(back.cursor.shard, 3u);
  EXPECT_EQ(back.cursor.position, 4u);
  EXPECT_EQ(back.max_rows, 5u);
}

TEST_F(WholeRowMessagesTest, ExportReplyComesBackWhole) {
  ExportRequest back;
  ASSERT_TRUE(
      DecodeExportReply(Body(EncodeExportReply(1, export_)).bytes(), &back)
          .ok());
  EXPECT_EQ(back.cursor.shard, 3u);
  EXPECT_EQ(back.cursor.position, 4u);
  EXPECT_EQ(back.dim, 1u);
  EXPECT_EQ(back.state_size, 2u);
  EXPECT_EQ(back.page.ids, ids_);
  EXPECT_EQ(back.page.weights, weights_);
  EXPECT_EQ(back.page.state, state_);
  EXPECT_EQ(back.page.use_time, UseTime::kSteps);
  ASSERT_EQ(back.page.uses.size(), 2u);
  EXPECT_EQ(back.page.uses[0].age, 6u);
  EXPECT_EQ(back.page.uses[1].count, 8u);
}

TEST_F(WholeRowMessagesTest, AssignComesBackWhole) {
  const Body body(EncodeAssign(1, assign_));
  AssignRequest back;
  ASSERT_TRUE(DecodeAssign(body.bytes(), &back).ok());
  EXPECT_EQ(back.table, 0xaabbu);
  EXPECT_EQ(back.dim, 1u);
  EXPECT_EQ(back.state_size, 2u);
  EXPECT_EQ(Copy(back.ids), ids_);
  EXPECT_EQ(Copy(back.weights), weights_);
  EXPECT_EQ(Copy(back.state), state_);
}

TEST_F(WholeRowMessagesTest, DropTableHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeDropTable(1, drop_)).bytes()),
            "bbaa000000000000\n0900000000000000\n0100000000000000");
  EXPECT_EQ(Hex(Body(EncodeDropTableReply(1)).bytes()), "");
}

TEST_F(WholeRowMessagesTest, DropTableComesBackWhole) {
  DropTableRequest back;
  ASSERT_TRUE(
      DecodeDropTable(Body(EncodeDropTable(1, drop_)).bytes(), &back).ok());
  EXPECT_EQ(back.table, drop_.table);
  EXPECT_EQ(back.drop_id, drop_.drop_id);
  EXPECT_TRUE(back.stays);
}

TEST_F(WholeRowMessagesTest, RemoveAndItsReplyComeBackWhole) {
  const Body body(EncodeRemove(1, remove_));
  RemoveRequest back;
  ASSERT_TRUE(DecodeRemove(body.bytes(), &back).ok());
  EXPECT_EQ(back.table, 0xaabbu);
  EXPECT_EQ(Copy(back.ids), ids_);
  uint64_t removed = 0;
  ASSERT_TRUE(
      DecodeRemoveReply(Body(EncodeRemoveReply(1, 7)).bytes(), &removed).ok());
  EXPECT_EQ(removed, 7u);
}

TEST_F(WholeRowMessagesTest, RowsWithoutStateAndNoRowsComeBack) {
  assign_.state_size = 0;
  assign_.state = {};
  AssignRequest back;
  EXPECT_TRUE(DecodeAssign(Body(EncodeAssign(1, assign_)).bytes(), &back).ok());
  EXPECT_TRUE(back.state.empty());
  export_.page = RowPage();
  ExportRequest page;
  EXPECT_TRUE(
      DecodeExportReply(Body(EncodeExportReply(1, export_)).bytes(), &page)
          .ok());
  EXPECT_TRUE(page.page.ids.empty());
}

Status AsExport(ConstBytes body) {
  ExportRequest request;
  return DecodeExport(body, &request);
}

Status AsAssign(ConstBytes body) {
  AssignRequest request;
  return DecodeAssign(body, &request);
}

Status AsRemove(ConstBytes body) {
  RemoveRequest request;
  return DecodeRemove(body, &request);
}

Status AsDropTable(ConstBytes body) {
  DropTableRequest request;
  return DecodeDropTable(body, &request);
}

Status AsRemoveReply(ConstBytes body) {
  uint64_t removed;
  return DecodeRemoveReply(body, &removed);
}

// Every prefix, and the message with something behind it.
void ExpectOnlyWholeDecodes(const OutFrame& frame,
                            Status (*decode)(ConstBytes)) {
  const std::vector<uint8_t> bytes = Body(frame).copy();
  EXPECT_TRUE(decode(Body(bytes).bytes()).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Body prefix(
        std::vector<uint8_t>(bytes.begin(), bytes.begin() + size));
    EXPECT_EQ(decode(prefix.bytes()).code(), Code::kDataLoss) << size;
  }
  for (const size_t extra : {1, 8}) {
    std::vector<uint8_t> longer = bytes;
    longer.resize(longer.size() + extra);
    EXPECT_EQ(decode(Body(longer).bytes()).code(), Code::kDataLoss);
  }
}

TEST_F(WholeRowMessagesTest, TruncatedAndTrailingBytesAreRefused) {
  ExpectOnlyWholeDecodes(EncodeExport(1, export_), AsExport);
  ExpectOnlyWholeDecodes(EncodeExportReply(1, export_), AsExportReply);
  ExpectOnlyWholeDecodes(EncodeAssign(1, assign_), AsAssign);
  ExpectOnlyWholeDecodes(EncodeRemove(1, remove_), AsRemove);
  ExpectOnlyWholeDecodes(EncodeRemoveReply(1, 7), AsRemoveReply);
  ExpectOnlyWholeDecodes(EncodeDropTable(1, drop_), AsDropTable);
  ExpectOnlyWholeDecodes(EncodeDropTableReply(1), DecodeDropTableReply);
}

TEST_F(WholeRowMessagesTest, AssignReplyWithABodyIsRefused) {
  EXPECT_TRUE(DecodeAssignReply(ConstBytes()).ok());
  EXPECT_EQ(DecodeAssignReply(Body(EncodeRemoveReply(1, 7)).bytes()).code(),
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
  constexpr size_t kExportReplyAt = 24, kAssignAt = 16, kRemoveAt = 8;
  for (const uint64_t count :
       {uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 61, uint64_t{1} << 63,
        std::numeric_limits<uint64_t>::max()}) {
    EXPECT_EQ(With(EncodeExportReply(1, export_), kExportReplyAt, count,
                   AsExportReply)
                  .code(),
              Code::kDataLoss)
        << count;
    EXPECT_EQ(With(EncodeAssign(1, assign_), kAssignAt, count, AsAssign).code(),
              Code::kDataLoss)
        << count;
    EXPECT_EQ(With(EncodeRemove(1, remove_), kRemoveAt, count, AsRemove).code(),
              Code::kDataLoss)
        << count;
  }
}

TEST_F(WholeRowMessagesTest, WidthsBeyondTheBodyAreRefused) {
  constexpr uint32_t kMost = kMaxDim;
  assign_.dim = export_.dim = kMost;
  EXPECT_EQ(AsAssign(Body(EncodeAssign(1, assign_)).bytes()).code(),
            Code::kDataLoss);
  EXPECT_EQ(AsExportReply(Body(EncodeExportReply(1, export_)).bytes()).code(),
            Code::kDataLoss);
}

TEST_F(WholeRowMessagesTest, WidthsOutOfRangeAreRefused) {
  for (const uint32_t dim : {0u, kMaxDim + 1, 0xffffffffu}) {
    assign_.dim = export_.dim = dim;
    EXPECT_EQ(AsAssign(Body(EncodeAssign(1, assign_)).bytes()).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(AsExportReply(Body(EncodeExportReply(1, export_)).bytes()).code(),
              Code::kInvalidArgument);
  }
  assign_.dim = export_.dim = 1;
  assign_.state_size = export_.state_size = 0xffffffffu;
  EXPECT_EQ(AsAssign(Body(EncodeAssign(1, assign_)).bytes()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(AsExportReply(Body(EncodeExportReply(1, export_)).bytes()).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
