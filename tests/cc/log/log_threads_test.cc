// Threads that append at once, to files of the operating system.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/log_fixture.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

constexpr int kThreads = 10;
constexpr int kRecords = 100;

class LogThreadsTest : public ::testing::Test {
 protected:
  // Small batches and segments, so that they are full all the time.
  static LogOptions SmallOptions(SyncMode sync) {
    LogOptions options;
    options.segments.sync = sync;
    options.segments.max_bytes = 4000;
    options.max_batch_bytes = 200;
    return options;
  }

  void AppendFromThreads(LogWriter* log);

  const TemporaryFolder folder_;
  const LogPlace place_{LocalFiles(), folder_ / "log"};
  std::atomic<int> durable_{0};
};

// Record i of thread t is "t i"; half of them are waited for.
void LogThreadsTest::AppendFromThreads(LogWriter* log) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, log, t] {
      for (int i = 0; i < kRecords; ++i) {
        const auto position = Append(log, Concat(t, " ", i));
        ASSERT_TRUE(position.ok()) << position.status().message();
        log->WhenDurable(*position, [this](const Status& status) {
          EXPECT_TRUE(status.ok()) << status.message();
          ++durable_;
        });
        if (i % 2 == 0) continue;
        CallResult durable;
        log->WhenDurable(*position, durable.done());
        EXPECT_TRUE(durable.Wait().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void ExpectEachThreadsRecordsInOrder(const std::vector<std::string>& records) {
  EXPECT_EQ(records.size(), static_cast<size_t>(kThreads * kRecords));
  std::map<std::string, int> next;
  for (const std::string& record : records) {
    const size_t space = record.find(' ');
    EXPECT_EQ(std::stoi(record.substr(space)), next[record.substr(0, space)]++);
  }
}

TEST_F(LogThreadsTest, EveryRecordOfEveryThreadIsLoggedOnceAndInOrder) {
  for (const SyncMode sync : {SyncMode::kDevice, SyncMode::kSystem}) {
    const uint64_t from = ReadLog(place_).position;
    durable_ = 0;
    const auto log = Continue(place_, SmallOptions(sync));
    AppendFromThreads(log.get());
    EXPECT_TRUE(log->Close().ok());
    EXPECT_EQ(durable_, kThreads * kRecords);
    const Reading reading = ReadLog(place_, from);
    EXPECT_TRUE(reading.status.ok()) << reading.status.message();
    ExpectEachThreadsRecordsInOrder(reading.records);
  }
  EXPECT_GT(LocalFiles()->List(place_.folder)->size(), 10u);
}

TEST_F(LogThreadsTest, ClosingEndsThoseThatWaitForRoom) {
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files), SmallOptions(SyncMode::kDevice));
  std::atomic<int> appended{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (appended < 1'000'000 && Append(log.get(), "a").ok()) ++appended;
    });
  }
  while (appended < 100) std::this_thread::yield();
  EXPECT_TRUE(log->Close().ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadLog(PlaceIn(&files)).records.size(),
            static_cast<size_t>(appended));
}

}  // namespace
}  // namespace persia
