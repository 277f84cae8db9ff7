#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>

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

int CreateTable(const char* session, const char* table, int dim,
                const char* optimizer, uint64_t* rows) {
  return persia_session_create_table(session, table, dim, "zeros", optimizer, 7,
                                     0.0f, rows);
}

// ---- Server ----

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    ExpectOk(persia_server_start("127.0.0.1", 0, 1, &server_));
    if (server_ == nullptr) return;
    address_ = "127.0.0.1:" + std::to_string(persia_server_port(server_));
  }
  ~ServerTest() override { persia_server_free(server_); }

  persia_server* server_ = nullptr;
  std::string address_;
};

TEST(ServerStart, RefusesPortsOutOfRange) {
  persia_server* server = nullptr;
  ExpectError(persia_server_start("127.0.0.1", -1, 1, &server),
              Code::kInvalidArgument, "received -1");
  ExpectError(persia_server_start("127.0.0.1", 65536, 1, &server),
              Code::kInvalidArgument, "received 65536");
  EXPECT_EQ(server, nullptr);
}

TEST(ServerStart, RefusesToRunWithoutThreads) {
  persia_server* server = nullptr;
  ExpectError(persia_server_start("127.0.0.1", 0, 0, &server),
              Code::kInvalidArgument, "io_threads must be at least 1");
  EXPECT_EQ(server, nullptr);
}

TEST_F(ServerTest, APortThatIsTakenIsAnError) {
  const int port = persia_server_port(server_);
  EXPECT_GT(port, 0);
  persia_server* second = nullptr;
  ExpectError(persia_server_start("127.0.0.1", port, 1, &second),
              Code::kUnavailable, std::to_string(port));
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
  ExpectOk(persia_session_open("remote", address_.c_str(), kTimeout, 4));
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
  ExpectOk(persia_stats_fetch(address_.c_str(), kTimeout, &stats));
  EXPECT_EQ(persia_stats_processes(stats), 1);
  persia_stats_free(stats);
}

// ---- Session ----

class SessionTest : public testing::Test {
 protected:
  SessionTest() { ExpectOk(persia_session_open(kName, "", kTimeout, 4)); }
  ~SessionTest() override { ExpectOk(persia_session_close(kName)); }

  static constexpr char kName[] = "embedded";
};

TEST(SessionOpen, RefusesTimeoutsThatNoDeadlineCanHave) {
  for (const double timeout : kBadTimeouts) {
    ExpectError(persia_session_open("never", "", timeout, 4),
                Code::kInvalidArgument, "timeout must be above 0");
  }
}

TEST(SessionOpen, RefusesANegativeNumberOfPushes) {
  ExpectError(persia_session_open("never", "", kTimeout, -1),
              Code::kInvalidArgument, "max_pending_pushes must be at least 0");
}

TEST(SessionOpen, RefusesAnAddressThatIsNone) {
  ExpectError(persia_session_open("never", "no port", kTimeout, 4),
              Code::kInvalidArgument, "no port");
}

TEST(SessionOpen, LeavesNoSessionBehindWhenItFails) {
  EXPECT_NE(persia_session_open("never", "", 0, 4), 0);
  ExpectError(persia_session_flush("never"), Code::kNotFound, "'never'");
}

TEST_F(SessionTest, ANameIsOpenedOnce) {
  ExpectError(persia_session_open(kName, "", kTimeout, 4), Code::kAlreadyExists,
              kName);
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

TEST_F(SessionTest, OtherSettingsOfATableAreShownWithItsOwn) {
  uint64_t rows = 0;
  ExpectOk(CreateTable(kName, "t", 4, "sgd", &rows));
  const int code = CreateTable(kName, "t", 8, "sgd", &rows);
  ExpectError(code, Code::kAlreadyExists, "\"t\"");
  ExpectError(code, Code::kAlreadyExists, "output_dim=4");
  ExpectError(code, Code::kAlreadyExists, "output_dim=8");
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

// ---- Stats ----

TEST(StatsFetch, RefusesTimeoutsThatNoDeadlineCanHave) {
  persia_stats* stats = nullptr;
  for (const double timeout : kBadTimeouts) {
    ExpectError(persia_stats_fetch("127.0.0.1:1", timeout, &stats),
                Code::kInvalidArgument, "timeout must be above 0");
  }
  EXPECT_EQ(stats, nullptr);
}

TEST(StatsFetch, RefusesAnEmptyList) {
  persia_stats* stats = nullptr;
  EXPECT_EQ(persia_stats_fetch("", kTimeout, &stats),
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
