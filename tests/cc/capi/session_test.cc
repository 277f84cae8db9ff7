// Sessions, their tables and their stats, through the C interface.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>

#include "cc/base/status.h"
#include "cc/capi/persia.h"
#include "cc/capi/persia_stats.h"
#include "tests/cc/capi/capi_calls.h"
#include "tests/cc/capi/embedded_fixture.h"

namespace persia {
namespace {

constexpr double kBadTimeouts[] = {0, -1, 1e9,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};

using SessionTest = EmbeddedFixture;

TEST(SessionOpen, RefusesTimeoutsThatNoDeadlineCanHave) {
  for (const double timeout : kBadTimeouts) {
    ExpectError(Open("never", "", timeout, 4), Code::kInvalidArgument,
                "timeout must be above 0");
  }
}

TEST(SessionOpen, RefusesANegativeStaleness) {
  ExpectError(Open("never", "", kTimeout, -1), Code::kInvalidArgument,
              "staleness must be at least 0");
}

TEST(SessionOpen, RefusesAnAddressThatIsNone) {
  ExpectError(Open("never", "no port", kTimeout, 4), Code::kInvalidArgument,
              "no port");
}

TEST(SessionOpen, LeavesNoSessionBehindWhenItFails) {
  EXPECT_NE(Open("never", "", 0, 4), 0);
  ExpectError(persia_session_flush("never"), Code::kNotFound, "'never'");
}

TEST_F(SessionTest, ANameIsOpenedOnce) {
  ExpectError(Open(kName, "", kTimeout, 4), Code::kAlreadyExists, kName);
}

TEST_F(SessionTest, RowsInThisProcessCannotMove) {
  ExpectError(persia_session_move_shard(kName, 0, "a:1"),
              Code::kFailedPrecondition, "no shard can move");
}

TEST(Session, AnUnknownOneIsAnErrorOfEveryCall) {
  uint64_t rows = 0;
  ExpectError(CreateTable("unknown", "t", 4, "sgd", &rows), Code::kNotFound,
              "'unknown'");
  ExpectError(persia_session_flush("unknown"), Code::kNotFound, "'unknown'");
  ExpectError(persia_session_close("unknown"), Code::kNotFound, "'unknown'");
  ExpectError(persia_session_move_shard("unknown", 0, "a:1"), Code::kNotFound,
              "'unknown'");
  persia_counters counters;
  ExpectError(persia_session_get_counters("unknown", &counters),
              Code::kNotFound, "'unknown'");
  persia_stats* stats = nullptr;
  ExpectError(persia_stats_of_session("unknown", &stats), Code::kNotFound,
              "'unknown'");
  EXPECT_EQ(stats, nullptr);
}

TEST_F(SessionTest, MakesATableAndAttachesToIt) {
  uint64_t rows = 1;
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
  EXPECT_EQ(rows, 0u);
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
}

TEST_F(SessionTest, WhatDiffersFromATablesSettingsIsShown) {
  uint64_t rows = 0;
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
  const int code = CreateTable(kName, "t", 8, "sgd", &rows);
  ExpectError(code, Code::kAlreadyExists, "\"t\"");
  ExpectError(code, Code::kAlreadyExists, "output_dim: 4 here, 8 asked");
}

TEST_F(SessionTest, BadSettingsOfATableAreRefused) {
  uint64_t rows = 0;
  ExpectError(CreateTable(kName, "t", 0, "sgd", &rows), Code::kInvalidArgument,
              "output_dim must be at least 1, received 0");
  ExpectError(CreateTable(kName, "t", 1 << 20, "sgd", &rows),
              Code::kInvalidArgument, "received 1048576");
  ExpectError(CreateTable(kName, "t", 4, "sgd(", &rows), Code::kInvalidArgument,
              "sgd(");
  ExpectError(CreateTable(kName, "t", 4, "magic", &rows),
              Code::kInvalidArgument, "magic");
  ExpectError(CreateTable(kName, "", 4, "sgd", &rows), Code::kInvalidArgument,
              "name");
}

TEST_F(SessionTest, FlushesAndCountsFromZero) {
  ExpectOk(persia_session_flush(kName));
  persia_counters counters;
  ExpectOk(persia_session_get_counters(kName, &counters));
  EXPECT_EQ(CounterOf(counters, "training_lookups"), 0u);
  EXPECT_EQ(CounterOf(counters, "updates"), 0u);
}

TEST_F(SessionTest, AnErrorBelongsToItsThread) {
  EXPECT_NE(persia_session_flush("unknown"), 0);
  std::thread([] { EXPECT_STREQ(persia_last_error(), ""); }).join();
  EXPECT_STRNE(persia_last_error(), "");
}

TEST_F(SessionTest, SettingsThatAreNotGivenHaveDefaults) {
  uint64_t rows = 0;
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
  persia_table_settings same = {};
  same.dim = 4;
  same.initializer = "zeros";
  same.optimizer = "sgd";
  same.row_dtype = "float32";
  same.capacity = "unlimited";
  same.admission = "always";
  same.eviction = "never";
  same.seed = 7;
  ExpectOk(persia_session_create_table(kName, "t", &same, &rows));
}

TEST_F(SessionTest, EverySettingOfATableCounts) {
  uint64_t rows = 0;
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
  persia_table_settings base = {};
  base.dim = 4;
  base.initializer = "zeros";
  base.optimizer = "sgd";
  base.seed = 7;
  persia_table_settings other = base;
  other.row_dtype = "float16";
  ExpectError(persia_session_create_table(kName, "t", &other, &rows),
              Code::kAlreadyExists, "float16");
  other = base;
  other.capacity = "rows(count=1000)";
  other.eviction = "lru";
  ExpectError(persia_session_create_table(kName, "t", &other, &rows),
              Code::kAlreadyExists, "rows(count=1000)");
  other = base;
  other.admission = "min_count(count=2)";
  ExpectError(persia_session_create_table(kName, "t", &other, &rows),
              Code::kAlreadyExists, "min_count(count=2)");
  other = base;
  other.eviction = "ttl(steps=9)";
  ExpectError(persia_session_create_table(kName, "t", &other, &rows),
              Code::kAlreadyExists, "ttl(steps=9)");
}

TEST(StatsFetch, RefusesTimeoutsThatNoDeadlineCanHave) {
  persia_stats* stats = nullptr;
  for (const double timeout : kBadTimeouts) {
    ExpectError(
        persia_stats_fetch("127.0.0.1:1", nullptr, nullptr, timeout, &stats),
        Code::kInvalidArgument, "timeout must be above 0");
  }
  EXPECT_EQ(stats, nullptr);
}

TEST(StatsFetch, RefusesAnEmptyList) {
  persia_stats* stats = nullptr;
  EXPECT_EQ(persia_stats_fetch("", nullptr, nullptr, kTimeout, &stats),
            CodeOf(Code::kInvalidArgument));
  EXPECT_EQ(stats, nullptr);
}

TEST_F(SessionTest, StatsShowItsTablesByName) {
  uint64_t rows = 0;
  ExpectOk(CreateTable(kName, "b", 8, "sgd", &rows));
  ExpectOk(CreateTable(kName, "a", 4, "sgd", &rows));
  persia_stats* stats = nullptr;
  ExpectOk(persia_stats_of_session(kName, &stats));
  EXPECT_EQ(persia_stats_processes(stats), 1);
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_STREQ(process.address, "embedded");
  EXPECT_EQ(process.tables, 2);
  persia_table_stats table;
  ExpectOk(persia_stats_table(stats, 0, 0, &table));
  EXPECT_STREQ(table.name, "a");
  EXPECT_EQ(table.dim, 4u);
  EXPECT_EQ(CounterOf(table.counters, "rows"), 0u);
  ExpectOk(persia_stats_table(stats, 0, 1, &table));
  EXPECT_STREQ(table.name, "b");
  EXPECT_EQ(table.dim, 8u);
  persia_stats_free(stats);
}

TEST_F(SessionTest, StatsHaveNoMoreThanTheyHave) {
  persia_stats* stats = nullptr;
  ExpectOk(persia_stats_of_session(kName, &stats));
  persia_process_stats process;
  persia_table_stats table;
  for (const int index : {-1, 1}) {
    ExpectError(persia_stats_process(stats, index, &process), Code::kNotFound,
                "no process " + std::to_string(index));
    ExpectError(persia_stats_table(stats, index, 0, &table), Code::kNotFound,
                "no process " + std::to_string(index));
  }
  for (const int index : {-1, 0}) {
    ExpectError(persia_stats_table(stats, 0, index, &table), Code::kNotFound,
                "no table " + std::to_string(index));
  }
  persia_stats_free(stats);
}

TEST(Stats, FreeingNoneIsAllowed) { persia_stats_free(nullptr); }

}  // namespace
}  // namespace persia
