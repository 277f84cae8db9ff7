#include "cc/log/log_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/cc/log/log_fixture.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

using Texts = std::vector<std::string>;

class LogWriterTest : public ::testing::Test {
 protected:
  // Each batch in a segment of its own.
  static LogOptions SmallSegments() {
    LogOptions options;
    options.segments.max_bytes = 1;
    return options;
  }

  MemoryFiles files_;
  const LogPlace place_ = PlaceIn(&files_);
};

TEST_F(LogWriterTest, ReadsWhatWasAppended) {
  const Texts texts = {"a", "", "12345678", std::string(1000, 'x')};
  const auto log = Continue(place_);
  AppendEach(log.get(), texts);
  EXPECT_EQ(log->position(), 4u);
  EXPECT_TRUE(log->Close().ok());
  const Reading reading = ReadLog(place_);
  EXPECT_TRUE(reading.status.ok()) << reading.status.message();
  EXPECT_EQ(reading.records, texts);
  EXPECT_EQ(reading.position, 4u);
  EXPECT_FALSE(reading.torn_tail.has_value());
}

TEST_F(LogWriterTest, ClosingMakesDurableWhatWasAppended) {
  {
    const auto log = Continue(place_);
    for (const char* text : {"a", "b", "c"}) {
      ASSERT_TRUE(Append(log.get(), text).ok());
    }
  }
  const MemoryImage image = files_.image();
  EXPECT_EQ(image.at(SegmentPath(1)).synced,
            image.at(SegmentPath(1)).bytes.size());
  EXPECT_EQ(ReadLog(place_).records, (Texts{"a", "b", "c"}));
}

TEST_F(LogWriterTest, GoesOnInASegmentOfItsOwn) {
  AppendEach(Continue(place_).get(), {"a", "b"});
  const auto before = files_.image().at(SegmentPath(1)).bytes;
  AppendEach(Continue(place_).get(), {"c"});
  EXPECT_EQ(files_.image().at(SegmentPath(1)).bytes, before);
  EXPECT_EQ(files_.image().count(SegmentPath(2)), 1u);
  EXPECT_EQ(ReadLog(place_).records, (Texts{"a", "b", "c"}));
}

TEST_F(LogWriterTest, SegmentsEndAtASize) {
  AppendEach(Continue(place_, SmallSegments()).get(), {"a", "b", "c"});
  EXPECT_EQ(files_.image().size(), 3u);
  EXPECT_EQ(ReadLog(place_).records, (Texts{"a", "b", "c"}));
  EXPECT_EQ(ReadLog(place_, 2).records, Texts{"c"});
}

TEST_F(LogWriterTest, OneSyncServesAllThatCameDuringTheOneBefore) {
  const auto log = Continue(place_);
  const int before = files_.syncs();
  files_.HoldSyncs();
  ASSERT_TRUE(Append(log.get(), "first").ok());
  files_.WaitForHeldSync();
  std::vector<CallResult> durable(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&, t] {
      const auto position = Append(log.get(), std::string(t, 't'));
      ASSERT_TRUE(position.ok());
      log->WhenDurable(*position, durable[t].done());
    });
  }
  for (std::thread& thread : threads) thread.join();  // While the sync lasts.
  for (const CallResult& one : durable) EXPECT_FALSE(one.ready());
  files_.ReleaseSyncs();
  for (const CallResult& one : durable) EXPECT_TRUE(one.Wait().ok());
  EXPECT_EQ(files_.syncs() - before, 2);
}

TEST_F(LogWriterTest, NothingIsDurableBeforeItsSync) {
  const auto log = Continue(place_);
  files_.HoldSyncs();
  const auto position = Append(log.get(), "a");
  CallResult durable;
  log->WhenDurable(*position, durable.done());
  files_.WaitForHeldSync();
  EXPECT_FALSE(durable.ready());
  files_.ReleaseSyncs();
  EXPECT_TRUE(durable.Wait().ok());
}

TEST_F(LogWriterTest, WithoutSyncsItIsDurableOnceItIsWritten) {
  LogOptions options;
  options.segments.sync = SyncMode::kSystem;
  const auto log = Continue(place_, options);
  const int before = files_.syncs();
  files_.HoldSyncs();
  AppendEach(log.get(), {"a", "b"});
  EXPECT_EQ(files_.syncs(), before);
  EXPECT_EQ(ReadLog(place_).records, (Texts{"a", "b"}));
}

TEST_F(LogWriterTest, CallsOnAThreadOfItsOwnThatMayAskAgain) {
  const auto log = Continue(place_);
  ASSERT_TRUE(AppendAndWait(log.get(), "a").ok());
  std::thread::id first, second;
  CallResult durable;
  log->WhenDurable(0, [&](const Status&) {
    first = std::this_thread::get_id();
    log->WhenDurable(0, [&, done = durable.done()](const Status& status) {
      second = std::this_thread::get_id();
      done(status);
    });
  });
  EXPECT_TRUE(durable.Wait().ok());
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST_F(LogWriterTest, ClosingAnswersWhoWaitsForWhatNeverCame) {
  const auto log = Continue(place_);
  ASSERT_TRUE(Append(log.get(), "a").ok());
  CallResult came, never;
  log->WhenDurable(1, never.done());
  log->WhenDurable(0, came.done());
  EXPECT_TRUE(log->Close().ok());
  ASSERT_TRUE(came.ready() && never.ready());
  EXPECT_TRUE(came.Wait().ok());
  EXPECT_EQ(never.Wait().code(), Code::kCancelled);
}

TEST_F(LogWriterTest, ClosingAnswersWhoAsksAgain) {
  const auto log = Continue(place_);
  CallResult again;
  log->WhenDurable(7, [&, done = again.done()](const Status&) {
    log->WhenDurable(8, done);
  });
  EXPECT_TRUE(log->Close().ok());
  ASSERT_TRUE(again.ready());
  EXPECT_EQ(again.Wait().code(), Code::kCancelled);
}

TEST_F(LogWriterTest, AClosedLogAnswersAndRefuses) {
  const auto log = Continue(place_);
  ASSERT_TRUE(Append(log.get(), "a").ok());
  EXPECT_TRUE(log->Close().ok());
  EXPECT_TRUE(log->Close().ok());
  EXPECT_EQ(Append(log.get(), "b").status().code(), Code::kCancelled);
  CallResult came, never;
  log->WhenDurable(0, came.done());
  log->WhenDurable(1, never.done());
  EXPECT_TRUE(came.Wait().ok());
  EXPECT_EQ(never.Wait().code(), Code::kCancelled);
}

TEST_F(LogWriterTest, ARecordLargerThanABatchGoesAlone) {
  LogOptions options;
  options.max_batch_bytes = 100;
  const Texts texts = {"a", std::string(1000, 'b'), "c"};
  const auto log = Continue(place_, options);
  for (const std::string& text : texts) {
    ASSERT_TRUE(Append(log.get(), text).ok());
  }
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(files_.largest_write(), RecordBytes(1000));
  EXPECT_EQ(ReadLog(place_).records, texts);
}

TEST_F(LogWriterTest, ABodyBeyondTheLimitIsRefused) {
  const auto log = Continue(place_);
  const std::vector<uint8_t> part(kMaxLogBodyBytes / 1024);
  const std::vector<Span<const uint8_t>> parts(1025, part);
  const auto position = log->Append(1, parts);
  EXPECT_EQ(position.status().code(), Code::kInvalidArgument);
  EXPECT_NE(position.status().message().find("at most 1073741824 bytes. "
                                             "Received: 1074790400"),
            std::string::npos)
      << position.status().message();
  EXPECT_TRUE(AppendAndWait(log.get(), "a").ok());
}

TEST_F(LogWriterTest, AppendsOnlyToALogThatWasReadToItsEnd) {
  AppendEach(Continue(place_).get(), {"a"});
  const auto log = LogReader::Open(place_, 0);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(LogWriter::Open(**log, {}).status().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace persia
