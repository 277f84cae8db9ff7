// Error, CreateTable, Stats and their replies.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

TableConfig SomeConfig() {
  TableConfig config;
  config.name = "job/user";
  config.dim = 16;
  config.initializer = Spec{"zeros", {}};
  config.optimizer = Spec{"sgd", {}};
  config.row_dtype = Spec{"int8", {}};
  config.capacity = Spec{"rows", {{"count", 9}}};
  config.admission = Spec{"probability", {{"p", 0.5}}};
  config.eviction = Spec{"lru", {}};
  config.seed = 5;
  config.default_value = 0.5f;
  config.shard_index = 1;
  config.shard_count = 3;
  return config;
}

CreateTableRequest SomeRequest() {
  CreateTableRequest request;
  request.config = SomeConfig();
  request.step = OpeningStep::kComplete;
  request.identity = 9;
  request.replaces_optimizer = true;
  return request;
}

CreateTableRequest SomeOutcome() {
  CreateTableRequest request;
  request.optimizer = "adam";
  request.rows = 2;
  request.generation = 3;
  request.identity = 4;
  request.state = TableState::kComplete;
  request.takes_bags = true;
  return request;
}

std::vector<ServiceStats> SomeStats() {
  ServiceStats process;
  process.address = "h:1";
  process.generation = 1;
  process.lookups = 2;
  process.updates = 3;
  process.repeated_updates = 4;
  process.bad_frames = 5;
  process.refused_connections = 17;
  process.connections = 6;
  process.source = "g:2";
  process.behind_millis = 18;
  TableStats table;
  table.name = "user";
  table.dim = 16;
  table.rows = 7;
  table.bytes = 8;
  table.index_slots = 9;
  table.rows_looked_up = 10;
  table.rows_found = 11;
  table.rows_updated = 12;
  table.nonfinite_gradients = 13;
  table.absent_gradients = 14;
  table.evictions = 15;
  table.refused = 16;
  process.tables = {table};
  return {process};
}

TEST(ControlMessagesTest, ErrorHasTheseBytes) {
  const Status status(Code::kNotFound, "abcde");
  EXPECT_EQ(Hex(Body(EncodeError(1, status)).bytes()),
            "0500000000000000\n0500000061626364\n6500000000000000");
}

TEST(ControlMessagesTest, CreateTableHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeCreateTable(1, SomeRequest())).bytes()),
            "0900000000000000\n0300000001000000\n"
            "100000000000003f\n0500000000000000\n0100000003000000\n"
            "080000006a6f622f\n7573657200000000\n"  // "job/user"
            "050000007a65726f\n7300000000000000\n"  // "zeros"
            "0300000073676400\n"                    // "sgd"
            "04000000696e7438\n"                    // "int8"
            "0d000000726f7773\n28636f756e743d39\n"  // "rows(count=9)"
            "2900000000000000\n"
            "1200000070726f62\n6162696c69747928\n"  // "probability(p=0.5)"
            "703d302e35290000\n"
            "030000006c727500");  // "lru"
}

TEST(ControlMessagesTest, CreateTableReplyHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeCreateTableReply(1, SomeOutcome())).bytes()),
            "0200000000000000\n0300000000000000\n0400000000000000\n"
            "0200000001000000\n"
            "040000006164616d");  // "adam"
}

TEST(ControlMessagesTest, StatsHasNoBody) {
  EXPECT_TRUE(Body(EncodeStats(1)).bytes().empty());
}

TEST(ControlMessagesTest, StatsReplyHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeStatsReply(1, SomeStats())).bytes()),
            "0100000000000000\n03000000683a3100\n"
            "0100000000000000\n0200000000000000\n0300000000000000\n"
            "0400000000000000\n0500000000000000\n1100000000000000\n"
            "0600000000000000\n03000000673a3200\n1200000000000000\n"
            "0100000000000000\n0400000075736572\n1000000000000000\n"
            "0700000000000000\n0800000000000000\n0900000000000000\n"
            "0a00000000000000\n0b00000000000000\n0c00000000000000\n"
            "0d00000000000000\n0e00000000000000\n0f00000000000000\n"
            "1000000000000000");
}

TEST(ControlMessagesTest, ErrorComesBackWhole) {
  for (const Code code :
       {Code::kCancelled, Code::kInvalidArgument, Code::kDeadlineExceeded,
        Code::kNotFound, Code::kAlreadyExists, Code::kPermissionDenied,
        Code::kResourceExhausted, Code::kFailedPrecondition,
        Code::kUnimplemented, Code::kInternal, Code::kUnavailable,
        Code::kDataLoss, Code::kUnauthenticated}) {
    const Status back =
        DecodeError(Body(EncodeError(1, Status(code, "why"))).bytes());
    EXPECT_EQ(back.code(), code);
    EXPECT_EQ(back.message(), "why");
  }
}

TEST(ControlMessagesTest, ErrorThatIsNoErrorIsDataLoss) {
  for (const uint32_t code : {0u, 2u, 999u}) {
    const Status status(static_cast<Code>(code), "why");
    EXPECT_EQ(DecodeError(Body(EncodeError(1, status)).bytes()).code(),
              Code::kDataLoss)
        << code;
  }
}

TEST(ControlMessagesTest, CreateTableComesBackWhole) {
  CreateTableRequest request = SomeRequest();
  TableConfig& config = request.config;
  config.optimizer = Spec{"adagrad", {{"epsilon", 1e-7}}};
  CreateTableRequest decoded;
  ASSERT_TRUE(
      DecodeCreateTable(Body(EncodeCreateTable(1, request)).bytes(), &decoded)
          .ok());
  EXPECT_TRUE(decoded.replaces_optimizer);
  EXPECT_EQ(decoded.step, request.step);
  EXPECT_EQ(decoded.identity, request.identity);
  const TableConfig& back = decoded.config;
  EXPECT_EQ(back.name, config.name);
  EXPECT_EQ(back.dim, config.dim);
  EXPECT_EQ(back.initializer, config.initializer);
  EXPECT_EQ(back.optimizer, config.optimizer);
  EXPECT_EQ(back.row_dtype, config.row_dtype);
  EXPECT_EQ(back.capacity, config.capacity);
  EXPECT_EQ(back.admission, config.admission);
  EXPECT_EQ(back.eviction, config.eviction);
  EXPECT_EQ(back.seed, config.seed);
  EXPECT_EQ(back.default_value, config.default_value);
  EXPECT_EQ(back.shard_index, config.shard_index);
  EXPECT_EQ(back.shard_count, config.shard_count);
}

TEST(ControlMessagesTest, SpecThatDoesNotParseIsRefused) {
  std::vector<uint8_t> bytes = Body(EncodeCreateTable(1, SomeRequest())).copy();
  bytes[bytes.size() - 2] = '(';  // "lr("
  CreateTableRequest request;
  EXPECT_EQ(DecodeCreateTable(Body(bytes).bytes(), &request).code(),
            Code::kInvalidArgument);
}

TEST(ControlMessagesTest, AStepThatThereIsNotIsRefused) {
  constexpr size_t kStepAt = 8;
  std::vector<uint8_t> bytes = Body(EncodeCreateTable(1, SomeRequest())).copy();
  bytes[kStepAt] = 4;
  CreateTableRequest request;
  const Status status = DecodeCreateTable(Body(bytes).bytes(), &request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "there is no step 4 of making a table");
}

TEST(ControlMessagesTest, RepliesComeBackWhole) {
  CreateTableRequest outcome;
  ASSERT_TRUE(
      DecodeCreateTableReply(
          Body(EncodeCreateTableReply(1, SomeOutcome())).bytes(), &outcome)
          .ok());
  EXPECT_EQ(outcome.rows, 2u);
  EXPECT_EQ(outcome.generation, 3u);
  EXPECT_EQ(outcome.identity, 4u);
  EXPECT_EQ(outcome.state, TableState::kComplete);
  EXPECT_TRUE(outcome.takes_bags);
  EXPECT_EQ(outcome.optimizer, "adam");

  std::vector<ServiceStats> back;
  ASSERT_TRUE(
      DecodeStatsReply(Body(EncodeStatsReply(1, SomeStats())).bytes(), &back)
          .ok());
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].address, "h:1");
  EXPECT_EQ(back[0].bad_frames, 5u);
  EXPECT_EQ(back[0].refused_connections, 17u);
  EXPECT_EQ(back[0].source, "g:2");
  EXPECT_EQ(back[0].behind_millis, 18u);
  EXPECT_EQ(back[0].connections, 6u);
  ASSERT_EQ(back[0].tables.size(), 1u);
  EXPECT_EQ(back[0].tables[0].name, "user");
  EXPECT_EQ(back[0].tables[0].index_slots, 9u);
  EXPECT_EQ(back[0].tables[0].rows_found, 11u);
  EXPECT_EQ(back[0].tables[0].absent_gradients, 14u);
  EXPECT_EQ(back[0].tables[0].evictions, 15u);
  EXPECT_EQ(back[0].tables[0].refused, 16u);
}

Status AsError(ConstBytes body) {
  // Of the type itself, an intact Error is not ok either.
  const Status status = DecodeError(body);
  return status.code() == Code::kNotFound ? Status() : status;
}

Status AsCreateTable(ConstBytes body) {
  CreateTableRequest request;
  return DecodeCreateTable(body, &request);
}

Status AsCreateTableReply(ConstBytes body) {
  CreateTableRequest outcome;
  return DecodeCreateTableReply(body, &outcome);
}

Status AsStatsReply(ConstBytes body) {
  std::vector<ServiceStats> processes;
  return DecodeStatsReply(body, &processes);
}

void ExpectOnlyWholeDecodes(const OutFrame& frame,
                            Status (*decode)(ConstBytes)) {
  const std::vector<uint8_t> bytes = Body(frame).copy();
  EXPECT_TRUE(decode(Body(bytes).bytes()).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Body prefix(
        std::vector<uint8_t>(bytes.begin(), bytes.begin() + size));
    EXPECT_EQ(decode(prefix.bytes()).code(), Code::kDataLoss) << size;
  }
  std::vector<uint8_t> longer = bytes;
  longer.resize(longer.size() + 8);
  EXPECT_EQ(decode(Body(longer).bytes()).code(), Code::kDataLoss);
}

TEST(ControlMessagesTest, TruncatedAndTrailingBytesAreRefused) {
  ExpectOnlyWholeDecodes(EncodeError(1, Status(Code::kNotFound, "abcde")),
                         AsError);
  ExpectOnlyWholeDecodes(EncodeCreateTable(1, SomeRequest()), AsCreateTable);
  ExpectOnlyWholeDecodes(EncodeCreateTableReply(1, SomeOutcome()),
                         AsCreateTableReply);
  ExpectOnlyWholeDecodes(EncodeStatsReply(1, SomeStats()), AsStatsReply);
}

TEST(ControlMessagesTest, AFlagOrStateThatThereIsNotIsRefused) {
  constexpr size_t kStateAt = 24, kTakesBagsAt = 28;
  for (const size_t at : {kStateAt, kTakesBagsAt}) {
    std::vector<uint8_t> bytes =
        Body(EncodeCreateTableReply(1, SomeOutcome())).copy();
    bytes[at] = 3;
    EXPECT_EQ(AsCreateTableReply(Body(bytes).bytes()).code(), Code::kDataLoss)
        << at;
  }
}

TEST(ControlMessagesTest, CountsBeyondTheBodyAreRefused) {
  constexpr size_t kProcessesAt = 0, kAddressAt = 8, kTablesAt = 88;
  for (const size_t at : {kProcessesAt, kAddressAt, kTablesAt}) {
    std::vector<uint8_t> bytes = Body(EncodeStatsReply(1, SomeStats())).copy();
    std::memset(bytes.data() + at, 0xff, 4);
    EXPECT_EQ(AsStatsReply(Body(bytes).bytes()).code(), Code::kDataLoss) << at;
  }
}

}  // namespace
}  // namespace persia
