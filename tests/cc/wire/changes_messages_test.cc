// Changes and its reply.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

TableConfig Config(const std::string& name, uint32_t dim) {
  TableConfig config;
  config.name = name;
  config.dim = dim;
  config.initializer = Spec::Parse("zeros").value();
  config.optimizer = Spec::Parse("sgd").value();
  return config;
}

// A table with two rows and an erased id, and one with nothing.
class ChangesMessagesTest : public testing::Test {
 protected:
  ChangesMessagesTest() {
    changes_.position = {1, 2, 3, 4};
    changes_.max_rows = 5;
    changes_.max_bytes = 6;
    changes_.member = 7;
    changes_.shard = 8;
    changes_.begins = Begins::kWhole;
    changes_.complete = true;
    changes_.only_changes = true;
    changes_.requests = 9;
    changes_.tables = {{Config("a", 3), {{1, -1}, {1, 2, 3, 4, 5, 6}, {9}}},
                       {Config("b", 1), {{}, {}, {}}},
                       {Config("c", 1), {{7}, {1}, {}}, TableFate::kCleared}};
  }

  ChangesRequest changes_;
};

TEST_F(ChangesMessagesTest, ChangesHasTheseBytes) {
  ExpectBytes(changes_,
              "0100000000000000\n0200000000000000\n0300000000000000\n"
              "0400000000000000\n0500000000000000\n0600000000000000\n"
              "0700000000000000\n0800000000000000\n0000000000000000");
}

TEST_F(ChangesMessagesTest, ChangesReplyHasTheseBytes) {
  const std::string settings =
      "050000007a65726f\n7300000000000000\n0300000073676400\n"
      "07000000666c6f61\n7433320000000000\n"
      "09000000756e6c69\n6d69746564000000\n"
      "06000000616c7761\n7973000000000000\n"
      "050000006e657665\n7200000000000000\n";
  const std::string rest = "0000000000000000\n01000000";
  // The size of a row, the table's time, and its identity.
  const std::string of_whole_rows = "0000000001000000\n0000000000000000\n";
  ExpectReplyBytes(
      changes_,
      "0200000000000000\n0300000000000000\n0400000000000000\n"
      "0900000000000000\n0200000001000000\n0100000000000000\n"
      "0000000000000000\n0000000000000000\n0000000000000000\n"
      "0300000000000000\n0300000000000000\n" +
          rest + "61000000\n" + settings +
          "0200000000000000\n0100000000000000\n0000000000000000\n" +
          of_whole_rows + "0100000000000000\n" + rest + "62000000\n" +
          settings + "0000000000000000\n0000000000000000\n0000000000000000\n" +
          of_whole_rows + "0100000000000000\n" + rest + "63000000\n" +
          settings + "0100000000000000\n0000000000000000\n0100000000000000\n" +
          of_whole_rows +
          "0100000000000000\nffffffffffffffff\n0900000000000000\n"
          "0000803f00000040\n0000404000008040\n0000a0400000c040\n"
          "0700000000000000\n0000803f00000000");
}

TEST_F(ChangesMessagesTest, TheSlotsPrecedeTheRows) {
  SlotSet slots;
  slots.set(0).set(kSlots - 1);
  changes_.tables.resize(1);
  const std::vector<uint8_t> without = Body(EncodeReply(1, changes_)).copy();
  changes_.held = {5, {{2, slots}}};
  const std::vector<uint8_t> with = Body(EncodeReply(1, changes_)).copy();
  EXPECT_EQ(with.size(), without.size() + kSlots / 8 + 16);
  ChangesRequest received;
  const Body body(with);
  ASSERT_TRUE(DecodeReply(body.bytes(), &received).ok());
  EXPECT_EQ(received.held.cluster, 5u);
  ASSERT_EQ(received.held.epochs.size(), 1u);
  EXPECT_EQ(received.held.epochs[0].epoch, 2u);
  EXPECT_EQ(received.held.epochs[0].slots, slots);
  EXPECT_EQ(received.tables[0].rows.ids, changes_.tables[0].rows.ids);
}

Status AsChangesReply(const std::vector<uint8_t>& bytes) {
  return AsReply<ChangesRequest>(Body(bytes).bytes());
}

// Whichever bit flips, decoding ends, and never reads or gives more than there
// is.
TEST_F(ChangesMessagesTest, FlippedBitsAreRefusedOrDecoded) {
  const std::vector<uint8_t> bytes = Body(EncodeReply(1, changes_)).copy();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<uint8_t> flipped = bytes;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ChangesRequest request;
    const Body body(flipped);
    if (!DecodeReply(body.bytes(), &request).ok()) continue;
    EXPECT_EQ(BodyBytes(EncodeReply(1, request)), bytes.size()) << bit;
  }
}

std::vector<uint8_t> With(std::vector<uint8_t> bytes, size_t at, uint64_t value,
                          size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
  return bytes;
}

TEST_F(ChangesMessagesTest, CountsBeyondTheBodyAreRefused) {
  changes_.tables.resize(1);
  const std::vector<uint8_t> bytes = Body(EncodeReply(1, changes_)).copy();
  constexpr size_t kTablesAt = 64;
  const size_t erased_at = bytes.size() - 3 * 8 - 6 * 4 - 4 * 8;
  ASSERT_EQ(AsChangesReply(With(bytes, erased_at, 1, 8)).code(), Code::kOk);
  for (const uint64_t count :
       {uint64_t{3}, uint64_t{1} << 31, uint64_t{1} << 61, uint64_t{1} << 63,
        std::numeric_limits<uint64_t>::max()}) {
    for (const size_t at : {erased_at, erased_at - 8}) {
      EXPECT_EQ(AsChangesReply(With(bytes, at, count, 8)).code(),
                Code::kDataLoss)
          << count;
    }
  }
  for (const uint64_t count : {2u, 1u << 20, 0xffffffffu}) {
    EXPECT_EQ(AsChangesReply(With(bytes, kTablesAt, count, 4)).code(),
              Code::kDataLoss)
        << count;
  }
}

TEST_F(ChangesMessagesTest, WhatIsNoBeginningOrTableIsRefused) {
  const std::vector<uint8_t> bytes = Body(EncodeReply(1, changes_)).copy();
  constexpr size_t kBeginsAt = 32, kCompleteAt = 36;
  EXPECT_EQ(AsChangesReply(With(bytes, kBeginsAt, 3, 4)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(AsChangesReply(With(bytes, kCompleteAt, 2, 4)).code(),
            Code::kDataLoss);
  changes_.tables = {{Config("a", 1), {{1}, {2}, {}}, TableFate::kDropped}};
  EXPECT_EQ(ReceivedReply(changes_).code(), Code::kInvalidArgument);
  changes_.tables[0] = {Config("a", 1), {}, static_cast<TableFate>(3)};
  EXPECT_EQ(ReceivedReply(changes_).code(), Code::kInvalidArgument);
  changes_.tables = {{Config("", 1), {}}};
  EXPECT_EQ(ReceivedReply(changes_).code(), Code::kInvalidArgument);
  changes_.tables = {{Config("a", kMaxDim + 1), {}}};
  EXPECT_EQ(ReceivedReply(changes_).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
