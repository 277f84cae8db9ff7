// Changes and its reply.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

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
    changes_.begins = Begins::kWhole;
    changes_.complete = true;
    changes_.tables = {{Config("a", 3), {{1, -1}, {1, 2, 3, 4, 5, 6}, {9}}},
                       {Config("b", 1), {{}, {}, {}}},
                       {Config("c", 1), {{7}, {1}, {}}, TableFate::kCleared}};
  }

  ChangesRequest changes_;
};

TEST_F(ChangesMessagesTest, ChangesHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeChanges(1, 8, changes_)).bytes()),
            "0100000000000000\n0200000000000000\n0300000000000000\n"
            "0400000000000000\n0500000000000000\n0600000000000000\n"
            "0800000000000000");
}

TEST_F(ChangesMessagesTest, ChangesReplyHasTheseBytes) {
  changes_.tables.erase(changes_.tables.begin());
  const std::string config =
      "0100000000000000\n0000000000000000\n0000000001000000\n";
  const std::string settings =
      "050000007a65726f\n7300000000000000\n0300000073676400\n"
      "07000000666c6f61\n7433320000000000\n"
      "09000000756e6c69\n6d69746564000000\n"
      "06000000616c7761\n7973000000000000\n"
      "050000006e657665\n7200000000000000\n";
  EXPECT_EQ(Hex(Body(EncodeChangesReply(1, changes_)).bytes()),
            "0200000000000000\n0300000000000000\n0400000000000000\n"
            "0200000001000000\n0200000000000000\n" +
                config + "0100000062000000\n" + settings +
                "0000000000000000\n0000000000000000\n"
                "0000000000000000\n" +
                config + "0100000063000000\n" + settings +
                "0100000000000000\n0000000000000000\n"
                "0100000000000000\n"
                "0700000000000000\n0000803f00000000");
}

TEST_F(ChangesMessagesTest, ChangesComesBackWhole) {
  ChangesRequest back;
  ASSERT_TRUE(
      DecodeChanges(Body(EncodeChanges(1, 8, changes_)).bytes(), &back).ok());
  EXPECT_EQ(back.position.follower, 1u);
  EXPECT_EQ(back.position.epoch, 2u);
  EXPECT_EQ(back.position.version, 3u);
  EXPECT_EQ(back.position.base_save, 4u);
  EXPECT_EQ(back.max_rows, 5u);
  EXPECT_EQ(back.max_bytes, 6u);
  EXPECT_EQ(back.shard, 8u);
}

TEST_F(ChangesMessagesTest, ChangesReplyComesBackWhole) {
  ChangesRequest back;
  ASSERT_TRUE(
      DecodeChangesReply(Body(EncodeChangesReply(1, changes_)).bytes(), &back)
          .ok());
  EXPECT_EQ(back.position.epoch, 2u);
  EXPECT_EQ(back.position.version, 3u);
  EXPECT_EQ(back.position.base_save, 4u);
  EXPECT_EQ(back.begins, Begins::kWhole);
  EXPECT_TRUE(back.complete);
  ASSERT_EQ(back.tables.size(), 3u);
  for (size_t t = 0; t < back.tables.size(); ++t) {
    const TableChanges& was = changes_.tables[t];
    EXPECT_EQ(back.tables[t].config.name, was.config.name);
    EXPECT_EQ(back.tables[t].config.Describe(), was.config.Describe());
    EXPECT_EQ(back.tables[t].rows.ids, was.rows.ids);
    EXPECT_EQ(back.tables[t].rows.weights, was.rows.weights);
    EXPECT_EQ(back.tables[t].rows.erased, was.rows.erased);
    EXPECT_EQ(back.tables[t].fate, was.fate);
  }
}

Status AsChanges(const std::vector<uint8_t>& bytes) {
  ChangesRequest request;
  return DecodeChanges(Body(bytes).bytes(), &request);
}

Status AsChangesReply(const std::vector<uint8_t>& bytes) {
  ChangesRequest request;
  return DecodeChangesReply(Body(bytes).bytes(), &request);
}

void ExpectOnlyWholeDecodes(const OutFrame& frame,
                            Status (*decode)(const std::vector<uint8_t>&)) {
  const std::vector<uint8_t> bytes = Body(frame).copy();
  EXPECT_TRUE(decode(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto end = bytes.begin() + static_cast<ptrdiff_t>(size);
    EXPECT_EQ(decode({bytes.begin(), end}).code(), Code::kDataLoss) << size;
  }
  for (const size_t extra : {1, 8}) {
    std::vector<uint8_t> longer = bytes;
    longer.resize(longer.size() + extra);
    EXPECT_EQ(decode(longer).code(), Code::kDataLoss);
  }
}

TEST_F(ChangesMessagesTest, TruncatedAndTrailingBytesAreRefused) {
  ExpectOnlyWholeDecodes(EncodeChanges(1, 8, changes_), AsChanges);
  ExpectOnlyWholeDecodes(EncodeChangesReply(1, changes_), AsChangesReply);
}

// Whatever bit flips: an answer, and never more than there is.
TEST_F(ChangesMessagesTest, FlippedBitsAreRefusedOrDecoded) {
  const std::vector<uint8_t> bytes =
      Body(EncodeChangesReply(1, changes_)).copy();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<uint8_t> flipped = bytes;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ChangesRequest request;
    const Body body(flipped);
    if (!DecodeChangesReply(body.bytes(), &request).ok()) continue;
    EXPECT_EQ(BodyBytes(EncodeChangesReply(1, request)), bytes.size()) << bit;
  }
}

std::vector<uint8_t> With(std::vector<uint8_t> bytes, size_t at, uint64_t value,
                          size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
  return bytes;
}

TEST_F(ChangesMessagesTest, CountsBeyondTheBodyAreRefused) {
  changes_.tables.resize(1);
  const std::vector<uint8_t> bytes =
      Body(EncodeChangesReply(1, changes_)).copy();
  constexpr size_t kTablesAt = 32;
  const size_t erased_at = bytes.size() - 3 * 8 - 6 * 4 - 8 - 8;
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
  const std::vector<uint8_t> bytes =
      Body(EncodeChangesReply(1, changes_)).copy();
  constexpr size_t kBeginsAt = 24, kCompleteAt = 28;
  EXPECT_EQ(AsChangesReply(With(bytes, kBeginsAt, 3, 4)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(AsChangesReply(With(bytes, kCompleteAt, 2, 4)).code(),
            Code::kDataLoss);
  changes_.tables = {{Config("a", 1), {{1}, {2}, {}}, TableFate::kDropped}};
  EXPECT_EQ(AsChangesReply(Body(EncodeChangesReply(1, changes_)).copy()).code(),
            Code::kInvalidArgument);
  changes_.tables[0] = {Config("a", 1), {}, static_cast<TableFate>(3)};
  EXPECT_EQ(AsChangesReply(Body(EncodeChangesReply(1, changes_)).copy()).code(),
            Code::kInvalidArgument);
  changes_.tables = {{Config("", 1), {}}};
  EXPECT_EQ(AsChangesReply(Body(EncodeChangesReply(1, changes_)).copy()).code(),
            Code::kInvalidArgument);
  changes_.tables = {{Config("a", kMaxDim + 1), {}}};
  EXPECT_EQ(AsChangesReply(Body(EncodeChangesReply(1, changes_)).copy()).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
