#include "cc/base/event_log.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace persia {
namespace {

constexpr EventKind kPairs{"pairs", EventLevel::kWarning, 2};
constexpr EventKind kOthers{"others", EventLevel::kInfo, 2};

Clock::time_point g_now;
Clock::time_point FakeNow() { return g_now; }

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() { g_now = Clock::now(); }

  std::vector<std::string> TakeAll() {
    std::vector<std::string> texts;
    while (auto event = log_.Take(Clock::now())) texts.push_back(event->text);
    return texts;
  }

  EventLog log_{&FakeNow};
};

using Texts = std::vector<std::string>;

TEST_F(EventLogTest, GivesEventsInTheirOrder) {
  TellEvent(&log_, kPairs, "a ", 1);
  TellEvent(&log_, kOthers, "b");
  const auto first = log_.Take(Clock::now());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "a 1");
  EXPECT_EQ(first->level, EventLevel::kWarning);
  EXPECT_GT(first->unix_seconds, 1.6e9);
  EXPECT_EQ(TakeAll(), Texts{"b"});
}

TEST_F(EventLogTest, WithoutALogNothingIsTold) {
  TellEvent(nullptr, kPairs, "a");
}

TEST_F(EventLogTest, CountsWhatIsTooMuch) {
  for (int i = 0; i < 5; ++i) TellEvent(&log_, kPairs, i);
  TellEvent(&log_, kOthers, "its own");
  EXPECT_EQ(TakeAll(), (Texts{"0", "1", "its own"}));
  g_now += std::chrono::seconds(59);
  TellEvent(&log_, kPairs, "in the same minute");
  EXPECT_EQ(TakeAll(), Texts{});
}

TEST_F(EventLogTest, TellsTheCountAfterTheMinute) {
  for (int i = 0; i < 5; ++i) TellEvent(&log_, kPairs, i);
  TakeAll();
  g_now += std::chrono::seconds(60);
  EXPECT_EQ(TakeAll(), Texts{"3 more pairs"});
  EXPECT_EQ(TakeAll(), Texts{});
}

TEST_F(EventLogTest, TellsTheCountBeforeTheNext) {
  for (int i = 0; i < 5; ++i) TellEvent(&log_, kPairs, i);
  TakeAll();
  g_now += std::chrono::seconds(60);
  TellEvent(&log_, kPairs, "again");
  EXPECT_EQ(TakeAll(), (Texts{"3 more pairs", "again"}));
}

TEST_F(EventLogTest, ManyThatNobodyTakesAreCounted) {
  constexpr EventKind kMany{"many", EventLevel::kInfo, 1 << 30};
  for (int i = 0; i < 5000; ++i) TellEvent(&log_, kMany, i);
  const Texts texts = TakeAll();
  ASSERT_EQ(texts.size(), 4097u);
  EXPECT_EQ(texts[4095], "4095");
  EXPECT_EQ(texts[4096],
            "904 log events were lost, since they were not read in time");
}

TEST_F(EventLogTest, AnEventIsOneLineWithoutControlCharacters) {
  log_.Add(EventLevel::kInfo, "has other settings\n  dim 8");
  log_.Add(EventLevel::kInfo, "red \x1b[31m");
  log_.Add(EventLevel::kInfo, "not UTF-8 \xff");
  EXPECT_EQ(TakeAll(), (Texts{"has other settings   dim 8", "red \\x1b[31m",
                              "not UTF-8 \\xff"}));
}

TEST_F(EventLogTest, ALongTextIsCut) {
  log_.Add(EventLevel::kInfo, std::string(100000, 'x'));
  EXPECT_EQ(TakeAll(), Texts{std::string(2000, 'x') + "..."});
}

TEST_F(EventLogTest, TakeWaitsForAnEvent) {
  std::promise<void> waits;
  std::thread teller([&] {
    waits.get_future().wait();
    TellEvent(&log_, kPairs, "late");
  });
  waits.set_value();
  const auto event = log_.Take(DeadlineAfter(60));
  teller.join();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->text, "late");
}

TEST_F(EventLogTest, CloseWakesTakeAndTellsCounts) {
  for (int i = 0; i < 5; ++i) TellEvent(&log_, kPairs, i);
  TakeAll();
  std::thread closer([&] { log_.Close(); });
  const auto count = log_.Take(DeadlineAfter(60));
  closer.join();
  ASSERT_TRUE(count);
  EXPECT_EQ(count->text, "3 more pairs");
  EXPECT_FALSE(log_.Take(Deadline::max()));
}

}  // namespace
}  // namespace persia
