// The records of slots that move. (All others are written and read by the tests
// of recoveries.)

#include "cc/writing/journal_records.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace persia {
namespace {

// A record's body in one piece, at a multiple of 8 bytes as in a log.
class RecordBytes {
 public:
  explicit RecordBytes(const RecordBody& body)
      : type_(static_cast<uint16_t>(body.type())) {
    for (const ConstBytes part : body.parts()) {
      bytes_.insert(bytes_.end(), part.begin(), part.end());
    }
    words_.resize(bytes_.size() / 8 + 2);
  }

  size_t size() const { return bytes_.size(); }

  // The record with its first `size` bytes, or with zeros after its end.
  LogRecord Cut(size_t size) {
    std::memset(words_.data(), 0, words_.size() * 8);
    std::memcpy(words_.data(), bytes_.data(), std::min(size, bytes_.size()));
    LogRecord record;
    record.type = type_;
    record.body = ConstBytes(reinterpret_cast<uint8_t*>(words_.data()), size);
    return record;
  }
  LogRecord Whole() { return Cut(size()); }

  // The record with another number of 32 bits at this place.
  LogRecord With32(size_t at, uint32_t value) {
    LogRecord record = Whole();
    std::memcpy(reinterpret_cast<uint8_t*>(words_.data()) + at, &value, 4);
    return record;
  }

 private:
  const uint16_t type_;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> words_;
};

// Whatever is cut off or added is noticed.
template <typename Record>
void ExpectOnlyWholeIsRead(const RecordBody& body,
                           Status (*read)(const LogRecord&, Record*)) {
  RecordBytes bytes(body);
  EXPECT_EQ(bytes.size() % 8, 0u);
  Record record;
  const Status whole = read(bytes.Whole(), &record);
  EXPECT_TRUE(whole.ok()) << whole.message();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(read(bytes.Cut(size), &record).code(), Code::kDataLoss) << size;
  }
  EXPECT_EQ(read(bytes.Cut(bytes.size() + 8), &record).code(), Code::kDataLoss);
}

class PlacedRecordTest : public ::testing::Test {
 protected:
  PlacedRecordTest() : bytes_(3 * 5) {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = static_cast<std::byte>(i + 1);
    }
    placed_ = {9, 5, ids_, bytes_};
  }

  const std::vector<int64_t> ids_ = {-1, 7, int64_t{1} << 60};
  std::vector<std::byte> bytes_;
  PlacedRecord placed_;
};

TEST_F(PlacedRecordTest, ComesBack) {
  const RecordBody body = RecordBody::Placed(placed_);
  EXPECT_EQ(body.type(), RecordType::kPlaced);
  RecordBytes bytes(body);
  PlacedRecord back;
  ASSERT_TRUE(ReadPlaced(bytes.Whole(), &back).ok());
  EXPECT_EQ(back.table, 9u);
  EXPECT_EQ(back.row_bytes, 5u);
  EXPECT_EQ(std::vector<int64_t>(back.ids.begin(), back.ids.end()), ids_);
  EXPECT_EQ(std::vector<std::byte>(back.rows.begin(), back.rows.end()), bytes_);
}

TEST_F(PlacedRecordTest, OnlyTheWholeIsRead) {
  ExpectOnlyWholeIsRead(RecordBody::Placed(placed_), ReadPlaced);
  ExpectOnlyWholeIsRead(RecordBody::Placed({9, 5, {}, {}}), ReadPlaced);
}

TEST_F(PlacedRecordTest, CountsBeyondTheBodyAreRefused) {
  RecordBytes bytes(RecordBody::Placed(placed_));
  constexpr size_t kCountAt = 8, kHighCountAt = 12, kRowBytesAt = 16,
                   kZeroAt = 20;
  PlacedRecord back;
  EXPECT_EQ(ReadPlaced(bytes.With32(kZeroAt, 1), &back).code(),
            Code::kDataLoss);
  for (const uint32_t count : {4u, 0x80000000u, 0xffffffffu}) {
    EXPECT_EQ(ReadPlaced(bytes.With32(kCountAt, count), &back).code(),
              Code::kDataLoss);
    EXPECT_EQ(ReadPlaced(bytes.With32(kHighCountAt, count), &back).code(),
              Code::kDataLoss);
    EXPECT_EQ(ReadPlaced(bytes.With32(kRowBytesAt, count + 5), &back).code(),
              Code::kDataLoss);
  }
}

SlotSet SomeSlots() { return SlotSet().set(0).set(700).set(kSlots - 1); }

TEST(ClearedRecordTest, ComesBack) {
  for (const bool arrives : {false, true}) {
    for (const bool removes : {false, true}) {
      const ClearedRecord cleared{6, SomeSlots(), arrives, removes};
      const RecordBody body = RecordBody::Cleared(cleared);
      EXPECT_EQ(body.type(), RecordType::kCleared);
      RecordBytes bytes(body);
      ClearedRecord back;
      ASSERT_TRUE(ReadCleared(bytes.Whole(), &back).ok());
      EXPECT_EQ(back.generation, 6u);
      EXPECT_EQ(back.slots, SomeSlots());
      EXPECT_EQ(back.arrives, arrives);
      EXPECT_EQ(back.removes, removes);
    }
  }
}

TEST(ClearedRecordTest, OnlyTheWholeIsRead) {
  ExpectOnlyWholeIsRead(RecordBody::Cleared({6, SomeSlots(), true, true}),
                        ReadCleared);
}

TEST(ClearedRecordTest, WhatNobodyWritesIsRefused) {
  RecordBytes bytes(RecordBody::Cleared({6, SomeSlots(), true, true}));
  ClearedRecord back;
  constexpr size_t kWordsAt = 8, kArrivesAt = 16, kRemovesAt = 20;
  for (const size_t at : {kWordsAt, kArrivesAt, kRemovesAt}) {
    EXPECT_EQ(ReadCleared(bytes.With32(at, 2), &back).code(), Code::kDataLoss)
        << at;
  }
}

ClientWindow Window(uint64_t client, uint64_t highest, uint64_t age) {
  ClientWindow window;
  window.client = client;
  window.highest = highest;
  window.Set(age);
  return window;
}

AppliedRecord SomeApplied(bool is_owned) {
  return {{SomeSlots(), {Window(3, 5000, 1023), Window(4, 1, 0)}}, is_owned};
}

TEST(AppliedRecordTest, ComesBack) {
  for (const bool is_owned : {false, true}) {
    const RecordBody body = RecordBody::Applied(SomeApplied(is_owned));
    EXPECT_EQ(body.type(), RecordType::kApplied);
    RecordBytes bytes(body);
    AppliedRecord back;
    back.applied.clients.resize(5);  // Is replaced.
    ASSERT_TRUE(ReadApplied(bytes.Whole(), &back).ok());
    EXPECT_EQ(back.is_owned, is_owned);
    EXPECT_EQ(back.applied.slots, SomeSlots());
    EXPECT_EQ(back.applied.clients, SomeApplied(is_owned).applied.clients);
  }
}

TEST(AppliedRecordTest, OnlyTheWholeIsRead) {
  ExpectOnlyWholeIsRead(RecordBody::Applied(SomeApplied(true)), ReadApplied);
  ExpectOnlyWholeIsRead(RecordBody::Applied({{SomeSlots(), {}}, false}),
                        ReadApplied);
}

TEST(AppliedRecordTest, WhatNobodyWritesIsRefused) {
  RecordBytes bytes(RecordBody::Applied(SomeApplied(true)));
  AppliedRecord back;
  constexpr size_t kWordsAt = 0, kClientsAt = 8, kIsOwnedAt = 16, kZeroAt = 20;
  for (const size_t at : {kWordsAt, kIsOwnedAt, kZeroAt}) {
    EXPECT_EQ(ReadApplied(bytes.With32(at, 3), &back).code(), Code::kDataLoss)
        << at;
  }
  // However many clients the record claims to have, it ends soon.
  for (const uint32_t clients : {1u, 3u, 0xffffffffu}) {
    EXPECT_EQ(ReadApplied(bytes.With32(kClientsAt, clients), &back).code(),
              Code::kDataLoss)
        << clients;
  }
}

}  // namespace
}  // namespace persia
