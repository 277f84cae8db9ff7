#include "cc/log/log_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/log/log_fixture.h"

namespace persia {
namespace {

using Texts = std::vector<std::string>;

// Five records in segments of two, two and one.
MemoryImage FiveRecords() {
  LogOptions options;
  options.segments.max_bytes = 100;
  return ImageOf({"0", "1", "2", "3", "4"}, options);
}

class LogReaderTest : public ::testing::Test {
 protected:
  Status OpenStatus() { return LogReader::Open(place_, 0).status(); }

  MemoryFiles files_{FiveRecords()};
  LogPlace place_ = PlaceIn(&files_);
};

TEST_F(LogReaderTest, ALogThatWasNeverWrittenIsEmpty) {
  MemoryFiles files;
  const Reading reading = ReadLog(PlaceIn(&files));
  EXPECT_TRUE(reading.status.ok());
  EXPECT_TRUE(reading.records.empty());
  EXPECT_EQ(reading.position, 0u);
}

TEST_F(LogReaderTest, ReadsFromAnyPosition) {
  const Texts all = {"0", "1", "2", "3", "4"};
  for (size_t from = 0; from <= 5; ++from) {
    const Reading reading = ReadLog(place_, from);
    EXPECT_TRUE(reading.status.ok()) << reading.status.message();
    EXPECT_EQ(reading.records, Texts(all.begin() + from, all.end()));
    EXPECT_EQ(reading.position, 5u);
  }
}

TEST_F(LogReaderTest, SegmentsBeforeAPositionAreNotRead) {
  MemoryImage image = files_.image();
  image.at(SegmentPath(1)).bytes.resize(50);
  MemoryFiles files(image);
  EXPECT_EQ(ReadLog(PlaceIn(&files), 2).records, (Texts{"2", "3", "4"}));
  EXPECT_EQ(ReadLog(PlaceIn(&files), 1).status.code(), Code::kDataLoss);
}

// Position 9 is known from elsewhere, so the log must have had more records.
TEST_F(LogReaderTest, ALogThatEndsBeforeWhereItIsReadFromIsDamaged) {
  MemoryFiles empty;
  for (FileSystem* files :
       {static_cast<FileSystem*>(&files_), static_cast<FileSystem*>(&empty)}) {
    const Status status = ReadLog(PlaceIn(files), 9).status;
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_NE(status.message().find("but record 9 is needed"),
              std::string::npos)
        << status.message();
  }
}

TEST_F(LogReaderTest, WhatWasRemovedCannotBeRead) {
  ASSERT_TRUE(RemoveSegmentsBefore(place_, 2).ok());
  const Status status = ReadLog(place_, 1).status;
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("begins with record 2, but record 1 is"),
            std::string::npos)
      << status.message();
}

TEST_F(LogReaderTest, ASegmentWithTheNameOfAnotherIsDamage) {
  ASSERT_TRUE(files_.Rename(SegmentPath(2), SegmentPath(9)).ok());
  EXPECT_EQ(OpenStatus().code(), Code::kDataLoss);
}

TEST_F(LogReaderTest, OtherFilesAreNoneOfTheLogs) {
  for (const char* name :
       {"log/notes", "log/log-1", "log/log-00000000000000000001.bak",
        "log/log-0000000000000000000x", "log/LOG-00000000000000000001"}) {
    ASSERT_TRUE(files_.Create(name).ok());
  }
  EXPECT_EQ(ReadLog(place_).records.size(), 5u);
}

TEST_F(LogReaderTest, RemovesWholeSegmentsBeforeAPosition) {
  const auto count_after = [this](uint64_t position) {
    EXPECT_TRUE(RemoveSegmentsBefore(place_, position).ok());
    return files_.image().size();
  };
  EXPECT_EQ(count_after(0), 3u);
  EXPECT_EQ(count_after(1), 3u);
  EXPECT_EQ(count_after(3), 2u);
  EXPECT_EQ(ReadLog(place_, 3).records, (Texts{"3", "4"}));
  EXPECT_EQ(count_after(100), 1u);
  EXPECT_EQ(ReadLog(place_, 4).records, Texts{"4"});
}

TEST_F(LogReaderTest, AWriterGoesOnWhileSegmentsAreRemoved) {
  LogOptions options;
  options.segments.max_bytes = 1;
  const auto log = Continue(place_, options);
  for (uint64_t i = 5; i < 20; ++i) {
    ASSERT_TRUE(AppendAndWait(log.get(), std::to_string(i)).ok());
    ASSERT_TRUE(RemoveSegmentsBefore(place_, i).ok());
    EXPECT_EQ(files_.image().size(), 1u);
  }
  EXPECT_EQ(ReadLog(place_, 19).records, Texts{"19"});
}

}  // namespace
}  // namespace persia
