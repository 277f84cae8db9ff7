// What becomes of a log whose device fails.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/log/log_fixture.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

using Texts = std::vector<std::string>;

const Texts kTexts = {"a", "bb", std::string(50, 'c'), "d"};

// Appends kTexts until one is refused; returns how many were acknowledged.
size_t AppendUntilRefused(LogWriter* log) {
  size_t count = 0;
  while (count < kTexts.size() && AppendAndWait(log, kTexts[count]).ok()) {
    ++count;
  }
  return count;
}

// Expects that a reader found the first of kTexts, and no other record.
void ExpectABeginning(const Reading& reading) {
  EXPECT_TRUE(reading.status.ok()) << reading.status.message();
  ASSERT_LE(reading.records.size(), kTexts.size());
  EXPECT_EQ(reading.records,
            Texts(kTexts.begin(), kTexts.begin() + reading.records.size()));
}

class LogFailureTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Options of segments that take as many bytes as the parameter says.
  LogOptions Options() const {
    LogOptions options;
    options.segments.max_bytes = GetParam();
    return options;
  }

  MemoryFiles files_;
  const LogPlace place_ = PlaceIn(&files_);
};

TEST_P(LogFailureTest, WhereverTheDeviceIsFullNothingAcknowledgedIsLost) {
  bool was_whole = false;
  for (uint64_t room = 0; !was_whole && room < 1000; ++room) {
    MemoryFiles files;
    const LogPlace place = PlaceIn(&files);
    const auto log = Continue(place, Options());
    files.FailWritesAfter(room);
    const size_t count = AppendUntilRefused(log.get());
    was_whole = count == kTexts.size();
    EXPECT_EQ(log->Close().code(),
              was_whole ? Code::kOk : Code::kResourceExhausted);
    const Reading reading = ReadLog(place);
    ExpectABeginning(reading);
    EXPECT_GE(reading.records.size(), count) << "room for " << room;
  }
  EXPECT_TRUE(was_whole);
}

TEST_P(LogFailureTest, ALogGoesOnOnceThereIsRoomAgain) {
  for (uint64_t room = 0; room < 100; ++room) {
    MemoryFiles files;
    const LogPlace place = PlaceIn(&files);
    auto log = Continue(place, Options());
    files.FailWritesAfter(room);
    AppendUntilRefused(log.get());
    log.reset();
    files.FailWritesAfter(UINT64_MAX);
    Texts expected = ReadLog(place).records;
    AppendEach(Continue(place, Options()).get(), {"later"});
    expected.push_back("later");
    EXPECT_EQ(ReadLog(place).records, expected) << "room for " << room;
  }
}

INSTANTIATE_TEST_SUITE_P(SegmentBytes, LogFailureTest,
                         ::testing::Values(1, 120, 1 << 20));

TEST(LogErrorTest, ALogAtAUrlIsRefused) {
  MemoryFiles files;
  const LogPlace place{&files, "s3://bucket/log"};
  const auto reader = LogReader::Open(place, 0);
  EXPECT_EQ(reader.status().code(), Code::kInvalidArgument);
  EXPECT_NE(reader.status().message().find("must be in a folder of this "
                                           "machine, received \"s3://bucket"),
            std::string::npos)
      << reader.status().message();
}

TEST(LogErrorTest, AFullDeviceAtItsStartIsAnError) {
  MemoryFiles files;
  files.FailWritesAfter(3);
  const auto end = LogReader::Open(PlaceIn(&files), 0);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(LogWriter::Open(**end, {}).status().code(),
            Code::kResourceExhausted);
}

TEST(LogErrorTest, AnErrorReachesAllWhoWaitAndAllWhoCome) {
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files));
  ASSERT_TRUE(AppendAndWait(log.get(), "a").ok());
  files.HoldSyncs();
  files.FailSyncs();
  std::vector<CallResult> waiting(5);
  for (size_t i = 0; i < waiting.size(); ++i) {
    const auto position = Append(log.get(), "b");
    ASSERT_TRUE(position.ok());
    log->WhenDurable(*position, waiting[i].done());
    if (i == 0) files.WaitForHeldSync();  // The others come later.
  }
  files.ReleaseSyncs();
  for (const CallResult& one : waiting) {
    EXPECT_EQ(one.Wait().code(), Code::kUnavailable);
    EXPECT_NE(
        one.Wait().message().find("the device is gone; logging has stopped"),
        std::string::npos)
        << one.Wait().message();
  }
  EXPECT_EQ(Append(log.get(), "c").status().code(), Code::kUnavailable);
  CallResult durable, late;
  log->WhenDurable(0, durable.done());
  log->WhenDurable(3, late.done());
  EXPECT_TRUE(durable.Wait().ok());
  EXPECT_EQ(late.Wait().code(), Code::kUnavailable);
  EXPECT_EQ(log->Close().code(), Code::kUnavailable);
}

TEST(LogErrorTest, AppendWaitsWhileABatchIsFullAndAnErrorEndsTheWait) {
  constexpr int kFitting = 10;
  LogOptions options;
  options.max_batch_bytes = kFitting * RecordBytes(1);
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files), options);
  files.HoldSyncs();
  files.FailSyncs();
  ASSERT_TRUE(Append(log.get(), "a").ok());
  files.WaitForHeldSync();
  std::thread device([&] {
    while (log->position() < 1 + kFitting) std::this_thread::yield();
    files.ReleaseSyncs();
  });
  int appended = 0;
  while (appended < 1000 && Append(log.get(), "b").ok()) ++appended;
  device.join();
  EXPECT_EQ(appended, kFitting);
}

}  // namespace
}  // namespace persia
