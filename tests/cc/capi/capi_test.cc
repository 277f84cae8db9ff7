#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>

#include "cc/base/hash.h"
#include "cc/base/status.h"
#include "cc/capi/persia.h"

namespace persia {
namespace {

constexpr double kTimeout = 30;
constexpr double kBadTimeouts[] = {0, -1, 1e9,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};

int CodeOf(Code code) { return static_cast<int>(code); }

// The last call failed with `code`, and its message says `part`.
void ExpectError(int returned, Code code, const std::string& part) {
  const std::string message = persia_last_error();
  EXPECT_EQ(returned, CodeOf(code)) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

void ExpectOk(int returned) { EXPECT_EQ(returned, 0) << persia_last_error(); }

int Open(const char* name, const std::string& addresses, double timeout,
         int staleness, const char* wire_dtype = "float32") {
  persia_session_options options = {};
  options.addresses = addresses.c_str();
  options.timeout_seconds = timeout;
  options.staleness = staleness;
  options.wire_dtype = wire_dtype;
  return persia_session_open(name, &options);
}

int CreateTable(const char* session, const char* table, int dim,
                const char* optimizer, uint64_t* rows) {
  persia_table_settings settings = {};
  settings.dim = dim;
  settings.initializer = "zeros";
  settings.optimizer = optimizer;
  settings.seed = 7;
  return persia_session_create_table(session, table, &settings, rows);
}

// ---- Server ----

persia_server_options OptionsOf(int port, int io_threads = 1) {
  persia_server_options options = {};
  options.host = "127.0.0.1";
  options.port = port;
  options.io_threads = io_threads;
  return options;
}

int StartServer(int port, int io_threads, persia_server** server) {
  const persia_server_options options = OptionsOf(port, io_threads);
  return persia_server_start(&options, nullptr, server);
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    ExpectOk(StartServer(0, 1, &server_));
    if (server_ == nullptr) return;
    address_ = "127.0.0.1:" + std::to_string(persia_server_port(server_));
  }
  ~ServerTest() override { persia_server_free(server_); }

  persia_server* server_ = nullptr;
  std::string address_;
};

TEST(ServerStart, RefusesPortsOutOfRange) {
  persia_server* server = nullptr;
  ExpectError(StartServer(-1, 1, &server), Code::kInvalidArgument,
              "received -1");
  ExpectError(StartServer(65536, 1, &server), Code::kInvalidArgument,
              "received 65536");
  EXPECT_EQ(server, nullptr);
}

TEST(ServerStart, RefusesToRunWithoutThreads) {
  persia_server* server = nullptr;
  ExpectError(StartServer(0, 0, &server), Code::kInvalidArgument,
              "io_threads must be at least 1");
  EXPECT_EQ(server, nullptr);
}

TEST_F(ServerTest, APortThatIsTakenIsAnError) {
  const int port = persia_server_port(server_);
  EXPECT_GT(port, 0);
  persia_server* second = nullptr;
  ExpectError(StartServer(port, 1, &second), Code::kUnavailable,
              std::to_string(port));
  EXPECT_EQ(second, nullptr);
}

TEST_F(ServerTest, StopsMoreThanOnce) {
  ExpectOk(persia_server_stop(server_, 10));
  ExpectOk(persia_server_stop(server_, 0));
}

TEST_F(ServerTest, RefusesToStopInNoTimeThatTheClockKnows) {
  for (const double seconds : {-1.0, 1e9, std::nan("")}) {
    ExpectError(persia_server_stop(server_, seconds), Code::kInvalidArgument,
                "seconds must be from 0");
  }
}

TEST_F(ServerTest, ServesSessionsAndTellsOfThem) {
  ExpectOk(Open("remote", address_, kTimeout, 4));
  uint64_t rows = 1;
  ExpectOk(CreateTable("remote", "t", 4, "sgd", &rows));
  EXPECT_EQ(rows, 0u);

  persia_stats* stats = nullptr;
  ExpectOk(persia_stats_of_session("remote", &stats));
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_EQ(process.address, address_);
  EXPECT_EQ(process.tables, 1);
  persia_stats_free(stats);

  ExpectOk(persia_stats_of_server(server_, &stats));
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_EQ(process.tables, 1);
  persia_stats_free(stats);

  ExpectOk(persia_session_close("remote"));
}

TEST_F(ServerTest, StatsAreFetchedFromAList) {
  persia_stats* stats = nullptr;
  ExpectOk(
      persia_stats_fetch(address_.c_str(), nullptr, nullptr, kTimeout, &stats));
  EXPECT_EQ(persia_stats_processes(stats), 1);
  persia_stats_free(stats);
}

TEST(ServerStart, RefusesOtherMachinesWithoutAToken) {
  persia_server* server = nullptr;
  persia_server_options options = OptionsOf(0);
  options.host = "0.0.0.0";
  ExpectError(persia_server_start(&options, nullptr, &server),
              Code::kInvalidArgument, "--auth-token-file");
  EXPECT_EQ(server, nullptr);
  options.insecure = 1;
  ExpectOk(persia_server_start(&options, nullptr, &server));
  persia_server_free(server);
}

TEST(ServerStart, RefusesALimitOfConnectionsThatIsNone) {
  persia_server* server = nullptr;
  persia_server_options options = OptionsOf(0);
  options.max_connections = -1;
  ExpectError(persia_server_start(&options, nullptr, &server),
              Code::kInvalidArgument, "max_connections must be at least 1");
}

TEST(ServerStart, ATokenIsForShardsWorkersSessionsAndStats) {
  constexpr char kToken[] = "a token of this test";
  persia_server *shard = nullptr, *worker = nullptr;
  persia_server_options options = OptionsOf(0);
  options.auth_token = kToken;
  ExpectOk(persia_server_start(&options, nullptr, &shard));
  const std::string behind =
      "127.0.0.1:" + std::to_string(persia_server_port(shard));
  ExpectOk(persia_worker_start(&options, behind.c_str(), kTimeout, 0, &worker));
  const std::string front =
      "127.0.0.1:" + std::to_string(persia_server_port(worker));

  persia_session_options session = {};
  session.addresses = front.c_str();
  session.timeout_seconds = kTimeout;
  session.wire_dtype = "float32";
  session.auth_token = kToken;
  ExpectOk(persia_session_open("trusted", &session));
  uint64_t rows = 1;
  ExpectOk(CreateTable("trusted", "t", 2, "sgd", &rows));
  ExpectOk(persia_session_close("trusted"));

  persia_stats* stats = nullptr;
  ExpectError(
      persia_stats_fetch(front.c_str(), nullptr, nullptr, kTimeout, &stats),
      Code::kUnauthenticated, "this server wants a token");
  ExpectOk(
      persia_stats_fetch(front.c_str(), kToken, nullptr, kTimeout, &stats));
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_EQ(process.refused_connections, 1u);
  ExpectOk(persia_stats_process(stats, 1, &process));
  EXPECT_EQ(process.refused_connections, 0u);
  persia_stats_free(stats);
  persia_server_free(worker);
  persia_server_free(shard);
}

// ---- Worker ----

TEST_F(ServerTest, AWorkerServesSessionsInFrontOfIt) {
  persia_server* worker = nullptr;
  const persia_server_options options = OptionsOf(0);
  ExpectOk(
      persia_worker_start(&options, address_.c_str(), kTimeout, 100, &worker));
  ASSERT_NE(worker, nullptr);
  const std::string front =
      "127.0.0.1:" + std::to_string(persia_server_port(worker));
  ExpectOk(Open("behind", front, kTimeout, 0));
  uint64_t rows = 1;
  ExpectOk(CreateTable("behind", "t", 2, "sgd", &rows));
  const int64_t ids[] = {5};
  const float assigned[] = {1, 2};
  ExpectOk(
      persia_session_assign("behind", "t", 2, 0, ids, 1, assigned, nullptr));
  float found[2] = {};
  ExpectOk(persia_session_lookup("behind", "t", 2, ids, 1, found));
  EXPECT_EQ(found[1], 2);

  persia_stats* stats = nullptr;
  ExpectOk(persia_stats_of_session("behind", &stats));
  EXPECT_EQ(persia_stats_processes(stats), 2);
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_EQ(process.address, front);
  EXPECT_EQ(process.lookups, 1u);
  ExpectOk(persia_stats_process(stats, 1, &process));
  EXPECT_EQ(process.address, address_);
  persia_stats_free(stats);
  ExpectOk(persia_session_close("behind"));
  ExpectOk(persia_server_stop(worker, 10));
  persia_server_free(worker);
}

TEST(WorkerStart, RefusesArgumentsThatCannotBe) {
  persia_server* worker = nullptr;
  const auto start = [&](int port, int io_threads, const char* addresses,
                         double timeout, uint64_t cache_rows) {
    const persia_server_options options = OptionsOf(port, io_threads);
    return persia_worker_start(&options, addresses, timeout, cache_rows,
                               &worker);
  };
  ExpectError(start(-1, 1, "a:1", 1, 0), Code::kInvalidArgument, "port");
  ExpectError(start(0, 0, "a:1", 1, 0), Code::kInvalidArgument, "io_threads");
  ExpectError(start(0, 1, "", 1, 0), Code::kInvalidArgument, "is empty");
  ExpectError(start(0, 1, "a", 1, 0), Code::kInvalidArgument, "a");
  ExpectError(start(0, 1, "a:1", 0, 0), Code::kInvalidArgument, "timeout");
  ExpectError(start(0, 1, "a:1", 1, uint64_t{1} << 33), Code::kInvalidArgument,
              "cache_rows");
  EXPECT_EQ(worker, nullptr);
}

// ---- Session ----

class SessionTest : public testing::Test {
 protected:
  SessionTest() { ExpectOk(Open(kName, "", kTimeout, 4)); }
  ~SessionTest() override { ExpectOk(persia_session_close(kName)); }

  static constexpr char kName[] = "embedded";
};

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

TEST(Session, AnUnknownOneIsAnErrorOfEveryCall) {
  uint64_t rows = 0;
  ExpectError(CreateTable("unknown", "t", 4, "sgd", &rows), Code::kNotFound,
              "'unknown'");
  ExpectError(persia_session_flush("unknown"), Code::kNotFound, "'unknown'");
  ExpectError(persia_session_close("unknown"), Code::kNotFound, "'unknown'");
  persia_session_counters counters;
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
  persia_session_counters counters;
  ExpectOk(persia_session_get_counters(kName, &counters));
  EXPECT_EQ(counters.training_lookups, 0u);
  EXPECT_EQ(counters.pushed, 0u);
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

// ---- Rows ----

// Table "t" of 2 columns, with Adagrad: as much state again.
class RowsTest : public SessionTest {
 protected:
  RowsTest() {
    uint64_t rows = 0;
    ExpectOk(CreateTable(kName, "t", 2, "adagrad", &rows));
  }
};

TEST_F(RowsTest, AreAssignedLookedUpAndRemoved) {
  const int64_t ids[] = {5, -5};
  const float rows[] = {1, 2, 3, 4};
  ExpectOk(persia_session_assign(kName, "t", 2, 0, ids, 2, rows, nullptr));
  const int64_t asked[] = {-5, 6, 5, -5};
  float found[8] = {};
  ExpectOk(persia_session_lookup(kName, "t", 2, asked, 4, found));
  const float expected[] = {3, 4, 0, 0, 1, 2, 3, 4};
  EXPECT_TRUE(std::equal(found, found + 8, expected));
  uint64_t removed = 0;
  ExpectOk(persia_session_remove(kName, "t", asked, 2, &removed));
  EXPECT_EQ(removed, 1u);
  ExpectOk(persia_session_lookup(kName, "t", 2, asked, 1, found));
  EXPECT_EQ(found[0], 0);
}

TEST_F(RowsTest, AreExportedPageByPageWithTheirState) {
  const int64_t ids[] = {7};
  const float rows[] = {1, 2};
  const float state[] = {3, 4};
  ExpectOk(persia_session_assign(kName, "t", 2, 2, ids, 1, rows, state));
  persia_export_cursor cursor = {};
  uint64_t count = 0;
  while (!cursor.at_end) {
    persia_page* page = nullptr;
    ExpectOk(persia_session_export(kName, "t", 1, &cursor, &page));
    ASSERT_NE(page, nullptr);
    persia_page_view view;
    persia_page_get(page, &view);
    EXPECT_EQ(view.dim, 2u);
    EXPECT_EQ(view.state_size, 2u);
    if (view.count > 0) {
      EXPECT_EQ(view.ids[0], 7);
      EXPECT_EQ(view.rows[1], 2);
      EXPECT_EQ(view.state[1], 4);
    }
    count += view.count;
    persia_page_free(page);
  }
  EXPECT_EQ(count, 1u);
}

TEST_F(RowsTest, OfATableThatIsNotThereAreNotFoundByName) {
  const int64_t ids[] = {7};
  float rows[] = {1, 2};
  uint64_t removed = 0;
  persia_export_cursor cursor = {};
  persia_page* page = nullptr;
  const char* none = "no such";
  const std::string part = "table 'no such': ";
  ExpectError(persia_session_lookup(kName, none, 2, ids, 1, rows),
              Code::kNotFound, part);
  ExpectError(persia_session_assign(kName, none, 2, 0, ids, 1, rows, nullptr),
              Code::kNotFound, part);
  ExpectError(persia_session_remove(kName, none, ids, 1, &removed),
              Code::kNotFound, part);
  ExpectError(persia_session_export(kName, none, 1, &cursor, &page),
              Code::kNotFound, part);
  EXPECT_EQ(page, nullptr);
}

TEST_F(RowsTest, OfASessionThatIsNotThereAreNotFound) {
  uint64_t removed = 0;
  ExpectError(persia_session_remove("unknown", "t", nullptr, 0, &removed),
              Code::kNotFound, "'unknown'");
}

TEST_F(RowsTest, OfAnotherWidthAreRefused) {
  const int64_t ids[] = {7};
  float rows[] = {1, 2, 3};
  ExpectError(persia_session_assign(kName, "t", 3, 0, ids, 1, rows, nullptr),
              Code::kInvalidArgument, "output_dim 2, received 3");
  ExpectError(persia_session_assign(kName, "t", 2, 3, ids, 1, rows, rows),
              Code::kInvalidArgument, "2 numbers of optimizer state");
  ExpectError(persia_session_lookup(kName, "t", 3, ids, 1, rows),
              Code::kInvalidArgument, "output_dim 2, received 3");
}

TEST(Page, FreeingNoneIsAllowed) { persia_page_free(nullptr); }

// ---- Following ----

TEST_F(RowsTest, AreToldToAFollower) {
  const int64_t ids[] = {7};
  const float rows[] = {1, 2};
  ExpectOk(persia_session_assign(kName, "t", 2, 0, ids, 1, rows, nullptr));
  persia_follow_position position = {5, 0, 0, 0};
  persia_changes* changes = nullptr;
  ExpectOk(persia_session_changes(kName, 0, &position, 10, &changes));
  EXPECT_EQ(position.follower, 5u);
  EXPECT_EQ(position.version, 1u);
  persia_changes_view view;
  persia_changes_get(changes, &view);
  EXPECT_EQ(view.begins, 2);
  persia_changed_table table;
  ASSERT_GE(view.tables, 1);
  ExpectOk(persia_changes_table(changes, view.tables - 1, &table));
  EXPECT_STREQ(table.name, "t");
  EXPECT_STREQ(table.row_dtype, "float32");
  EXPECT_EQ(table.dim, 2u);
  EXPECT_EQ(table.shard_index, 0u);
  EXPECT_EQ(table.shard_count, 1u);
  ASSERT_EQ(table.count, 1u);
  EXPECT_EQ(table.ids[0], 7);
  EXPECT_EQ(table.rows[1], 2);
  EXPECT_EQ(table.erased_count, 0u);
  ExpectError(persia_changes_table(changes, view.tables, &table),
              Code::kInvalidArgument, "table must be from 0");
  persia_changes_free(changes);

  uint64_t removed = 0;
  ExpectOk(persia_session_remove(kName, "t", ids, 1, &removed));
  ExpectOk(persia_session_changes(kName, 0, &position, 10, &changes));
  persia_changes_get(changes, &view);
  EXPECT_EQ(view.begins, 0);
  EXPECT_EQ(view.complete, 1);
  ASSERT_EQ(view.tables, 1);
  ExpectOk(persia_changes_table(changes, 0, &table));
  ASSERT_EQ(table.erased_count, 1u);
  EXPECT_EQ(table.erased[0], 7);
  persia_changes_free(changes);
}

TEST_F(RowsTest, AreNotToldOfAnotherShard) {
  persia_follow_position position = {5, 0, 0, 0};
  persia_changes* changes = nullptr;
  ExpectError(persia_session_changes(kName, 1, &position, 10, &changes),
              Code::kInvalidArgument, "received 1");
  EXPECT_EQ(changes, nullptr);
  EXPECT_EQ(position.version, 0u);
  persia_changes_free(changes);
}

TEST(ShardsOfIds, AreThoseThatTheIdsLiveOn) {
  const int64_t ids[] = {1, -1, 1 << 20};
  uint32_t shards[3];
  ExpectOk(persia_shards_of_ids(ids, 3, 5, shards));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shards[i], ShardOf(ids[i], 5));
  ExpectError(persia_shards_of_ids(ids, 3, 0, shards), Code::kInvalidArgument,
              "shard_count");
}

// ---- Stats ----

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
  EXPECT_EQ(table.rows, 0u);
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
