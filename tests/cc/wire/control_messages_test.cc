// Error, CreateTable, Stats and their replies.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/cc/wire/expect_bytes.h"

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

// Sets the counters to `first` and the numbers after it.
template <typename Counted>
void CountFrom(uint64_t first, Counted* counted) {
  counted->VisitCounters(
      [&](const char*, uint64_t& counter) { counter = first++; });
}

StatsRequest SomeStats() {
  ServiceStats process;
  process.address = "h:1";
  process.role = "shard";
  CountFrom(1, &process);
  process.source = "g:2";
  process.behind_millis = 30;
  TableStats table;
  table.name = "user";
  table.dim = 16;
  CountFrom(41, &table);
  process.tables = {table};
  process.requests = {{"read", 51, {{53, 54}, 52}}};
  TrainerStats trainer;
  trainer.program = "a:9";
  CountFrom(61, &trainer);
  process.trainers = {trainer};
  StatsRequest request;
  request.processes = {process};
  return request;
}

TEST(ControlMessagesTest, ErrorHasTheseBytes) {
  const Status status(Code::kNotFound, "abcde");
  EXPECT_EQ(Hex(Body(EncodeError(1, status)).bytes()),
            "0500000000000000\n0500000061626364\n6500000000000000");
}

TEST(ControlMessagesTest, CreateTableHasTheseBytes) {
  ExpectBytes(SomeRequest(),
              "0900000000000000\n0300000001000000\n"
              "100000000000003f\n0500000000000000\n"
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
  ExpectReplyBytes(SomeOutcome(),
                   "0200000000000000\n0300000000000000\n0400000000000000\n"
                   "0200000001000000\n"
                   "040000006164616d");  // "adam"
}

TEST(ControlMessagesTest, StatsHasNoBody) { ExpectBytes(StatsRequest(), ""); }

TEST(ControlMessagesTest, StatsReplyHasTheseBytes) {
  ExpectReplyBytes(SomeStats(),
                   "0100000000000000\n03000000683a3100\n0500000073686172\n"
                   "6400000000000000\n0100000000000000\n0200000000000000\n"
                   "0300000000000000\n0400000000000000\n0500000000000000\n"
                   "0600000000000000\n0700000000000000\n0800000000000000\n"
                   "0900000000000000\n0a00000000000000\n0b00000000000000\n"
                   "0c00000000000000\n0d00000000000000\n0e00000000000000\n"
                   "0f00000000000000\n1000000000000000\n1100000000000000\n"
                   "1200000000000000\n1300000000000000\n1400000000000000\n"
                   "1500000000000000\n1600000000000000\n1700000000000000\n"
                   "1800000000000000\n1900000000000000\n1a00000000000000\n"
                   "1b00000000000000\n1c00000000000000\n"
                   "03000000673a3200\n1e00000000000000\n0100000000000000\n"
                   "0400000075736572\n1000000000000000\n2900000000000000\n"
                   "2a00000000000000\n2b00000000000000\n2c00000000000000\n"
                   "2d00000000000000\n2e00000000000000\n2f00000000000000\n"
                   "3000000000000000\n3100000000000000\n3200000000000000\n"
                   "0100000000000000\n0400000072656164\n3300000000000000\n"
                   "3400000000000000\n0200000000000000\n3500000000000000\n"
                   "3600000000000000\n0100000000000000\n03000000613a3900\n"
                   "3d00000000000000\n3e00000000000000\n3f00000000000000\n"
                   "4000000000000000");
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

TEST(ControlMessagesTest, SpecThatDoesNotParseIsRefused) {
  std::vector<uint8_t> bytes = Body(EncodeRequest(1, SomeRequest())).copy();
  bytes[bytes.size() - 2] = '(';  // "lr("
  EXPECT_EQ(AsRequest<CreateTableRequest>(Body(bytes).bytes()).code(),
            Code::kInvalidArgument);
}

TEST(ControlMessagesTest, AStepThatThereIsNotIsRefused) {
  constexpr size_t kStepAt = 8;
  std::vector<uint8_t> bytes = Body(EncodeRequest(1, SomeRequest())).copy();
  bytes[kStepAt] = 4;
  const Status status = AsRequest<CreateTableRequest>(Body(bytes).bytes());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "a table's creation has the unknown step 4");
}

TEST(ControlMessagesTest, AFlagOrStateThatThereIsNotIsRefused) {
  constexpr size_t kStateAt = 24, kTakesBagsAt = 28;
  for (const size_t at : {kStateAt, kTakesBagsAt}) {
    std::vector<uint8_t> bytes = Body(EncodeReply(1, SomeOutcome())).copy();
    bytes[at] = 3;
    EXPECT_EQ(AsReply<CreateTableRequest>(Body(bytes).bytes()).code(),
              Code::kDataLoss)
        << at;
  }
}

TEST(ControlMessagesTest, CountsBeyondTheBodyAreRefused) {
  constexpr size_t kProcessesAt = 0, kAddressAt = 8, kTablesAt = 272,
                   kRequestsAt = 376, kBucketsAt = 408, kTrainersAt = 432;
  for (const size_t at : {kProcessesAt, kAddressAt, kTablesAt, kRequestsAt,
                          kBucketsAt, kTrainersAt}) {
    std::vector<uint8_t> bytes = Body(EncodeReply(1, SomeStats())).copy();
    std::memset(bytes.data() + at, 0xff, 4);
    EXPECT_EQ(AsReply<StatsRequest>(Body(bytes).bytes()).code(),
              Code::kDataLoss)
        << at;
  }
}

}  // namespace
}  // namespace persia
