// What is read after a crash, and after damage.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cc/base/crc32c.h"
#include "tests/cc/log/log_fixture.h"

namespace persia {
namespace {

using Texts = std::vector<std::string>;

const Texts kSynced = {"a", "bb"};
const Texts kUnsynced = {"", std::string(50, 'c'), "d"};

Texts Joined(Texts texts, const Texts& more) {
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

Texts Beginning(const Texts& texts, size_t count) {
  return Texts(texts.begin(), texts.begin() + count);
}

// Files at the moment when kSynced and "first" are durable, and kUnsynced, one
// batch, is written but not yet synced.
MemoryImage AtSync() {
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files));
  AppendEach(log.get(), kSynced);
  files.HoldSyncs();
  EXPECT_TRUE(Append(log.get(), "first").ok());
  files.WaitForHeldSync();
  const size_t synced = files.image().at(SegmentPath(1)).bytes.size();
  for (const std::string& text : kUnsynced) {
    EXPECT_TRUE(Append(log.get(), text).ok());
  }
  files.ReleaseSyncs();
  EXPECT_TRUE(log->Close().ok());
  MemoryImage image = files.image();
  image.at(SegmentPath(1)).synced = synced;
  return image;
}

const Texts kAtSync = Joined(Joined(kSynced, {"first"}), kUnsynced);

// The log's only segment with what the device has of it, and `kept` bytes more.
MemoryImage AfterLossOfPower(MemoryImage image, size_t kept) {
  MemoryFile* const file = &image.at(SegmentPath(1));
  file->bytes.resize(file->synced + kept);
  return image;
}

size_t UnsyncedBytes(const MemoryImage& image) {
  const MemoryFile& file = image.at(SegmentPath(1));
  return file.bytes.size() - file.synced;
}

// The offset of each record in a segment of `texts`, and its end.
std::vector<size_t> Offsets(const Texts& texts) {
  std::vector<size_t> offsets = {kSegmentHeaderBytes};
  for (const std::string& text : texts) {
    offsets.push_back(offsets.back() + RecordBytes(text.size()));
  }
  return offsets;
}

Reading Read(const MemoryImage& image, uint64_t from = 0) {
  MemoryFiles files(image);
  return ReadLog(PlaceIn(&files), from);
}

TEST(LogCrashTest, EveryPrefixIsReadUpToItsLastWholeRecord) {
  const MemoryImage whole = AtSync();
  const auto offsets = Offsets(kAtSync);
  ASSERT_EQ(whole.at(SegmentPath(1)).bytes.size(), offsets.back());
  for (size_t size = kSegmentHeaderBytes; size <= offsets.back(); ++size) {
    MemoryImage image = whole;
    image.at(SegmentPath(1)).bytes.resize(size);
    const Reading reading = Read(image);
    ASSERT_TRUE(reading.status.ok()) << reading.status.message();
    const size_t count =
        std::upper_bound(offsets.begin(), offsets.end(), size) -
        offsets.begin() - 1;
    EXPECT_EQ(reading.records, Beginning(kAtSync, count));
    EXPECT_EQ(reading.position, count);
    ASSERT_EQ(reading.torn_tail.has_value(), size > offsets[count]);
    if (!reading.torn_tail) continue;
    EXPECT_EQ(reading.torn_tail->path, SegmentPath(1));
    EXPECT_EQ(reading.torn_tail->offset, offsets[count]);
    EXPECT_EQ(reading.torn_tail->bytes, size - offsets[count]);
  }
}

TEST(LogCrashTest, ALogGoesOnBehindATornTail) {
  const MemoryImage image = AtSync();
  for (size_t kept = 0; kept <= UnsyncedBytes(image); ++kept) {
    MemoryFiles files(AfterLossOfPower(image, kept));
    Texts expected = ReadLog(PlaceIn(&files)).records;
    ASSERT_GE(expected.size(), kSynced.size() + 1);
    AppendEach(Continue(PlaceIn(&files)).get(), {"later", "latest"});
    expected = Joined(expected, {"later", "latest"});
    const Reading reading = ReadLog(PlaceIn(&files));
    EXPECT_TRUE(reading.status.ok()) << reading.status.message();
    EXPECT_EQ(reading.records, expected);
    EXPECT_FALSE(reading.torn_tail.has_value());
  }
}

TEST(LogCrashTest, ATailOfZerosIsTorn) {
  for (const size_t zeros : {1, 8, 31, 32, 1000}) {
    MemoryImage image = AfterLossOfPower(AtSync(), 0);
    MemoryFile* const file = &image.at(SegmentPath(1));
    file->bytes.resize(file->synced + zeros);
    const Reading reading = Read(image);
    EXPECT_TRUE(reading.status.ok()) << reading.status.message();
    EXPECT_EQ(reading.records, Joined(kSynced, {"first"}));
    EXPECT_EQ(reading.torn_tail->bytes, zeros);
  }
}

// The device writes in any order that it likes.
TEST(LogCrashTest, AHoleInWhatWasNotSyncedIsTorn) {
  const MemoryImage image = AtSync();
  const size_t begin = image.at(SegmentPath(1)).synced;
  const size_t end = image.at(SegmentPath(1)).bytes.size();
  const auto offsets = Offsets(kAtSync);
  for (size_t at = begin; at < end; ++at) {
    MemoryImage torn = image;
    uint8_t* const bytes = torn.at(SegmentPath(1)).bytes.data();
    std::fill(bytes + at, bytes + std::min(at + 16, end), 0);
    const Reading reading = Read(torn);
    EXPECT_TRUE(reading.status.ok()) << reading.status.message();
    const size_t count =
        std::upper_bound(offsets.begin(), offsets.end(), at) - offsets.begin();
    EXPECT_GE(reading.records.size() + 1, count);
    EXPECT_EQ(reading.records, Beginning(kAtSync, reading.records.size()));
  }
}

// A process is killed between write and sync. Then the records of the next
// process are durable only if that unsynced tail is durable.
TEST(LogCrashTest, WhatAKilledProcessLeftIsDurableBeforeWhatFollows) {
  MemoryFiles files(AtSync());
  ASSERT_GT(UnsyncedBytes(files.image()), 0u);
  AppendEach(Continue(PlaceIn(&files)).get(), {"later"});
  MemoryImage image = files.image();
  for (auto& [path, file] : image) file.bytes.resize(file.synced);
  const Reading reading = Read(image);
  EXPECT_TRUE(reading.status.ok()) << reading.status.message();
  EXPECT_EQ(reading.records, Joined(kAtSync, {"later"}));
}

TEST(LogCrashTest, ASegmentThatGotNoHeaderIsNone) {
  MemoryImage image = ImageOf(kSynced);
  for (const size_t size : {0, 20, 40}) {
    image["log/unfinished-log-segment"].bytes.assign(size, 'x');
    MemoryFiles files(image);
    EXPECT_EQ(ReadLog(PlaceIn(&files)).records, kSynced);
    AppendEach(Continue(PlaceIn(&files)).get(), {"later"});
    EXPECT_EQ(ReadLog(PlaceIn(&files)).records, Joined(kSynced, {"later"}));
    EXPECT_EQ(files.image().count("log/unfinished-log-segment"), 0u);
  }
}

TEST(LogCrashTest, ASegmentsHeaderIsDurableBeforeItHasAName) {
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files));
  EXPECT_EQ(files.image().at(SegmentPath(1)).synced, kSegmentHeaderBytes);
}

// Each record is acknowledged before the next one comes, so that only damage to
// the last record can be mistaken for the effect of a crash.
TEST(LogDamageTest, EveryDamagedByteIsFoundOrInTheTail) {
  const Texts texts = {"a", std::string(20, 'b'), "", "d", "12345678", "f"};
  LogOptions options;
  options.segments.max_bytes = 120;
  const MemoryImage whole = ImageOf(texts, options);
  ASSERT_EQ(whole.size(), 3u);
  const std::string last = SegmentPath(3);
  const size_t tail = whole.at(last).bytes.size() - RecordBytes(1);
  for (const auto& [path, file] : whole) {
    for (size_t at = 0; at < file.bytes.size(); ++at) {
      for (const uint8_t change : {0x01, 0x80, 0xff}) {
        MemoryImage image = whole;
        image.at(path).bytes[at] ^= change;
        const Reading reading = Read(image);
        if (path == last && at >= tail) {
          EXPECT_TRUE(reading.status.ok()) << reading.status.message();
          EXPECT_EQ(reading.records, Beginning(texts, texts.size() - 1));
          ASSERT_TRUE(reading.torn_tail.has_value());
          EXPECT_EQ(reading.torn_tail->offset, tail);
        } else {
          EXPECT_EQ(reading.status.code(), Code::kDataLoss)
              << path << " byte " << at;
          EXPECT_NE(reading.status.message().find(path), std::string::npos)
              << reading.status.message();
        }
      }
    }
  }
}

// What a killed process leaves of records that survive the end of a process,
// but not a loss of power.
class SystemLogTest : public ::testing::Test {
 protected:
  static LogOptions Options() {
    LogOptions options;
    options.segments.sync = SyncMode::kSystem;
    return options;
  }

  // Writes each of the first records alone, and the last three together.
  static MemoryImage Written() {
    MemoryFiles files;
    const auto log = Continue(PlaceIn(&files), Options());
    AppendEach(log.get(), kSynced);
    for (const std::string& text : kUnsynced) {
      EXPECT_TRUE(Append(log.get(), text).ok());
    }
    EXPECT_TRUE(log->Close().ok());
    return files.image();
  }

  const Texts texts_ = Joined(kSynced, kUnsynced);
  const MemoryImage written_ = Written();
};

TEST_F(SystemLogTest, IsCutOffAnywhere) {
  const auto offsets = Offsets(texts_);
  for (size_t size = kSegmentHeaderBytes; size <= offsets.back(); ++size) {
    MemoryImage image = written_;
    image.at(SegmentPath(1)).bytes.resize(size);
    const Reading reading = Read(image);
    ASSERT_TRUE(reading.status.ok()) << reading.status.message();
    const size_t count =
        std::upper_bound(offsets.begin(), offsets.end(), size) -
        offsets.begin() - 1;
    EXPECT_EQ(reading.records, Beginning(texts_, count));
    ASSERT_EQ(reading.torn_tail.has_value(), size > offsets[count]);
    if (!reading.torn_tail) continue;
    EXPECT_EQ(reading.torn_tail->bytes, size - offsets[count]);
    const bool has_header = size >= offsets[count] + kRecordHeaderBytes;
    EXPECT_EQ(reading.torn_tail->records, has_header ? 1u : 0u);
  }
}

// When a process ends, what it has written stays. So a flipped bit is damage,
// also in the last record, and where all records were written at once.
TEST_F(SystemLogTest, AFlippedBitIsNeverTorn) {
  const size_t size = written_.at(SegmentPath(1)).bytes.size();
  for (size_t at = 0; at < size; ++at) {
    MemoryImage image = written_;
    image.at(SegmentPath(1)).bytes[at] ^= 0x10;
    EXPECT_EQ(Read(image).status.code(), Code::kDataLoss) << at;
  }
}

TEST_F(SystemLogTest, WhatALossOfPowerLeftIsSaidToBe) {
  MemoryImage image = written_;
  std::vector<uint8_t>* const bytes = &image.at(SegmentPath(1)).bytes;
  std::fill(bytes->end() - 64, bytes->end(), 0);
  const Status status = Read(image).status;
  EXPECT_EQ(status.code(), Code::kDataLoss);
  for (const char* words : {"or power was lost", "--lose-log-from=3"}) {
    EXPECT_NE(status.message().find(words), std::string::npos)
        << status.message();
  }
}

TEST(LogLossTest, WhatIsGivenUpStartsWithTheDamagedRecord) {
  const Texts texts = {"a", "b", "c", "d", "e", "f"};
  LogOptions options;
  options.segments.max_bytes = 120;
  MemoryImage image = ImageOf(texts, options);
  ASSERT_EQ(image.size(), 3u);
  image.at(SegmentPath(1)).bytes[kSegmentHeaderBytes + RecordBytes(1) + 33] ^=
      1;
  for (const uint64_t other : {2, 3, 6}) {
    MemoryFiles files(image);
    EXPECT_EQ(ReadLog(PlaceIn(&files), 0, other).status.code(),
              Code::kDataLoss);
  }
  MemoryFiles files(image);
  const Reading reading = ReadLog(PlaceIn(&files), 0, 1);
  EXPECT_TRUE(reading.status.ok()) << reading.status.message();
  EXPECT_EQ(reading.records, Texts{"a"});
  ASSERT_TRUE(reading.torn_tail.has_value());
  EXPECT_TRUE(reading.torn_tail->is_given_up);
  EXPECT_EQ(reading.torn_tail->offset, kSegmentHeaderBytes + RecordBytes(1));
  EXPECT_EQ(reading.torn_tail->segments.size(), 2u);
  AppendEach(Continue(PlaceIn(&files), options, 1).get(), {"later"});
  // From then on the log reads as if the lost record had never been there.
  EXPECT_EQ(ReadLog(PlaceIn(&files)).records, (Texts{"a", "later"}));
  EXPECT_EQ(ReadLog(PlaceIn(&files), 0, 1).records, (Texts{"a", "later"}));
  const std::string name = SegmentPath(3).substr(std::string("log/").size());
  EXPECT_EQ(files.image().count("log/lost-" + name), 1u);
}

// If a process is killed while it gives records up, the next one does it again.
TEST(LogLossTest, IsDoneAgainAfterAnyCrash) {
  LogOptions options;
  options.segments.max_bytes = 1;
  MemoryImage image = ImageOf({"a", "b", "c", "d"}, options);
  image.at(SegmentPath(2)).bytes[kSegmentHeaderBytes + 1] ^= 1;
  for (const int lost : {3, 4}) {
    image.erase(SegmentPath(lost));
    MemoryFiles files(image);
    AppendEach(Continue(PlaceIn(&files), options, 1).get(), {"later"});
    EXPECT_EQ(ReadLog(PlaceIn(&files)).records, (Texts{"a", "later"}));
  }
}

TEST(LogDamageTest, AnErrorNamesTheByteAndStays) {
  MemoryImage image = ImageOf({"a", "b", "c"});
  image.at(SegmentPath(1)).bytes[kSegmentHeaderBytes + 40] ^= 1;
  MemoryFiles files(image);
  const auto log = LogReader::Open(PlaceIn(&files), 0);
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE((*log)->Next().ok());
  for (int i = 0; i < 2; ++i) {
    const Status status = (*log)->Next().status();
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_NE(status.message().find(
                  SegmentPath(1) +
                  ": the log has no intact record 1 at byte 80, but"),
              std::string::npos)
        << status.message();
  }
  EXPECT_FALSE((*log)->is_at_end());
}

TEST(LogDamageTest, ATornTailIsNoneWhereTheNextSegmentBeginsLater) {
  MemoryFiles files(ImageOf(kSynced));
  AppendEach(Continue(PlaceIn(&files)).get(), {"later"});
  MemoryImage image = files.image();
  image.at(SegmentPath(1)).bytes.resize(kSegmentHeaderBytes + RecordBytes(1));
  EXPECT_EQ(Read(image).status.code(), Code::kDataLoss);
  image.erase(SegmentPath(1));
  EXPECT_EQ(Read(image).status.code(), Code::kDataLoss);
  EXPECT_EQ(Read(image, 2).records, Texts{"later"});
}

TEST(LogDamageTest, TwoSegmentsWithOneRecordAreDamage) {
  MemoryImage image = ImageOf(kSynced);
  MemoryFiles shorter(AfterLossOfPower(ImageOf({"a"}), 0));
  AppendEach(Continue(PlaceIn(&shorter)).get(), {"x"});
  image[SegmentPath(2)] = shorter.image().at(SegmentPath(2));
  EXPECT_EQ(Read(image).status.code(), Code::kDataLoss);
}

TEST(LogDamageTest, ARecordOutOfItsPlaceIsDamage) {
  MemoryImage image = ImageOf({"a", "b"});
  std::vector<uint8_t>* const bytes = &image.at(SegmentPath(1)).bytes;
  const auto first = bytes->begin() + kSegmentHeaderBytes;
  const std::vector<uint8_t> again(first, first + RecordBytes(1));
  bytes->insert(bytes->end(), again.begin(), again.end());
  EXPECT_EQ(Read(image).status.code(), Code::kDataLoss);
}

}  // namespace
}  // namespace persia
