#include "cc/log/log_tail.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cc/log/record_visitor.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/log_fixture.h"

namespace persia {
namespace {

using Texts = std::vector<std::string>;

class LogTailTest : public ::testing::Test {
 protected:
  // Each batch in a segment of its own.
  static LogOptions SmallSegments() {
    LogOptions options;
    options.segments.max_bytes = 1;
    return options;
  }

  // Reads the records before `durable`, at least `least_bytes` of them if there
  // are as many.
  Status ReadTo(LogTail* tail, uint64_t durable, size_t least_bytes,
                Texts* texts) {
    const uint64_t first = tail->position();
    std::vector<uint8_t> bytes;
    PERSIA_RETURN_IF_ERROR(tail->Read(durable, least_bytes, &bytes));
    return VisitRecords(bytes, first, [&](const LogRecord& record) {
      texts->emplace_back(record.body.begin(), record.body.end());
      return Status();
    });
  }

  Texts ReadAll(LogTail* tail, uint64_t durable) {
    Texts texts;
    const Status read = ReadTo(tail, durable, size_t{1} << 30, &texts);
    EXPECT_TRUE(read.ok()) << read.message();
    return texts;
  }

  TemporaryFolder folder_;
  const LogPlace place_{LocalFiles(), folder_ / "log"};
};

TEST_F(LogTailTest, ReadsWhatIsAppendedMeanwhile) {
  for (const LogOptions& options : {LogOptions(), SmallSegments()}) {
    const LogPlace place{LocalFiles(),
                         folder_ / Concat(options.segments.max_bytes)};
    const auto log = Continue(place, options);
    LogTail tail(place, 0);
    EXPECT_EQ(ReadAll(&tail, log->durable()), Texts());
    AppendEach(log.get(), {"a", "bcd"});
    EXPECT_EQ(ReadAll(&tail, log->durable()), (Texts{"a", "bcd"}));
    EXPECT_EQ(ReadAll(&tail, log->durable()), Texts());
    const std::string large(3 << 20, 'x');
    AppendEach(log.get(), {"", large});
    EXPECT_EQ(ReadAll(&tail, log->durable()), (Texts{"", large}));
    EXPECT_EQ(tail.position(), 4u);
  }
}

TEST_F(LogTailTest, LeavesOutWhatIsNotDurable) {
  const auto log = Continue(place_);
  AppendEach(log.get(), {"a", "b", "c"});
  LogTail tail(place_, 0);
  EXPECT_EQ(ReadAll(&tail, 2), (Texts{"a", "b"}));
  EXPECT_EQ(ReadAll(&tail, 3), Texts{"c"});
}

TEST_F(LogTailTest, EndsAtTheLimitOfBytes) {
  const auto log = Continue(place_);
  AppendEach(log.get(), {"a", "b", "c"});
  LogTail tail(place_, 0);
  Texts texts;
  ASSERT_TRUE(ReadTo(&tail, 3, 1, &texts).ok());
  EXPECT_EQ(texts, Texts{"a"});
}

TEST_F(LogTailTest, BeginsAtAnyRecordOfSeveralSegments) {
  AppendEach(Continue(place_).get(), {"a", "b"});
  AppendEach(Continue(place_, SmallSegments()).get(), {"c", "d", "e"});
  const auto log = Continue(place_);
  const Texts all = {"a", "b", "c", "d", "e"};
  for (uint64_t from = 0; from <= all.size(); ++from) {
    LogTail tail(place_, from);
    EXPECT_EQ(ReadAll(&tail, log->durable()),
              Texts(all.begin() + static_cast<ptrdiff_t>(from), all.end()));
  }
}

TEST_F(LogTailTest, SaysThatRecordsWereRemoved) {
  const auto log = Continue(place_, SmallSegments());
  AppendEach(log.get(), {"a", "b", "c"});
  ASSERT_TRUE(RemoveSegmentsBefore(place_, 2).ok());
  LogTail tail(place_, 0);
  Texts texts;
  EXPECT_EQ(ReadTo(&tail, 3, 1, &texts).code(), Code::kNotFound);
  LogTail later(place_, 2);
  EXPECT_EQ(ReadAll(&later, 3), Texts{"c"});
}

TEST_F(LogTailTest, DamageIsFound) {
  const auto log = Continue(place_);
  AppendEach(log.get(), {"a", "b"});
  std::vector<uint8_t> bytes;
  LogTail tail(place_, 0);
  ASSERT_TRUE(tail.Read(2, size_t{1} << 20, &bytes).ok());
  const auto visit = [](const LogRecord&) { return Status(); };
  ASSERT_TRUE(VisitRecords(bytes, 0, visit).ok());
  EXPECT_EQ(VisitRecords(bytes, 1, visit).code(), Code::kDataLoss);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1;
    EXPECT_EQ(VisitRecords(bytes, 0, visit).code(), Code::kDataLoss) << i;
    bytes[i] ^= 1;
  }
  bytes.pop_back();
  EXPECT_EQ(VisitRecords(bytes, 0, visit).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace persia
