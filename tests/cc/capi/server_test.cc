// Servers, which are shards or workers, through the C interface.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/capi/persia.h"
#include "cc/capi/persia_stats.h"
#include "tests/cc/capi/capi_calls.h"

namespace persia {
namespace {

using Options = std::map<std::string, std::string>;

Options OptionsOf(int port, int io_threads = 1) {
  return {{"host", "127.0.0.1"},
          {"port", std::to_string(port)},
          {"io_threads", std::to_string(io_threads)}};
}

int Start(int kind, const Options& options, persia_server** server) {
  std::vector<persia_option> given;
  for (const auto& [name, value] : options) {
    given.push_back({name.c_str(), value.c_str()});
  }
  return persia_server_start(kind, given.data(), static_cast<int>(given.size()),
                             nullptr, server);
}

int StartServer(int port, int io_threads, persia_server** server) {
  return Start(PERSIA_SHARD, OptionsOf(port, io_threads), server);
}

int StartWorker(Options options, const std::string& addresses,
                uint64_t cache_rows, persia_server** server) {
  options.insert({{"ps", addresses},
                  {"timeout", std::to_string(kTimeout)},
                  {"cache_rows", std::to_string(cache_rows)}});
  return Start(PERSIA_WORKER, options, server);
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
  Options options = OptionsOf(0);
  options["host"] = "0.0.0.0";
  ExpectError(Start(PERSIA_SHARD, options, &server), Code::kInvalidArgument,
              "--auth-token-file");
  EXPECT_EQ(server, nullptr);
  options["insecure"] = "1";
  ExpectOk(Start(PERSIA_SHARD, options, &server));
  persia_server_free(server);
}

TEST(ServerStart, RefusesALimitOfConnectionsThatIsNone) {
  persia_server* server = nullptr;
  Options options = OptionsOf(0);
  options["max_connections"] = "-1";
  ExpectError(Start(PERSIA_SHARD, options, &server), Code::kInvalidArgument,
              "max_connections must be at least 1");
}

TEST(ServerStart, RefusesOptionsThatItDoesNotHave) {
  persia_server* server = nullptr;
  ExpectError(Start(PERSIA_SHARD, {{"cache_rows", "1"}}, &server),
              Code::kInvalidArgument, "there is no option cache_rows");
  ExpectError(Start(2, {}, &server), Code::kInvalidArgument,
              "kind must be PERSIA_SHARD or PERSIA_WORKER, received 2");
  EXPECT_EQ(server, nullptr);
}

TEST(ServerStart, RefusesValuesThatAnOptionCannotHave) {
  const Options bad = {{"max_tables", "few"},     {"port", ""},
                       {"insecure", "yes"},       {"recovery", "luck"},
                       {"log_sync", "paper"},     {"log_size", "1GiB"},
                       {"max_request_ids", "-1"}, {"io_threads", "2.5"}};
  for (const auto& [name, value] : bad) {
    persia_server* server = nullptr;
    const int code = Start(PERSIA_SHARD, {{name, value}}, &server);
    ExpectError(code, Code::kInvalidArgument, name + " must be ");
    ExpectError(code, Code::kInvalidArgument, "received ");
    EXPECT_EQ(server, nullptr);
  }
}

// An option that a shard cannot have fails before the shard opens its recovery
// folder.
TEST(ServerStart, ChecksOptionsBeforeItRecovers) {
  const std::string folder = testing::TempDir() + "/not_recovered";
  const Options bad = {{"io_threads", "0"},
                       {"max_connections", "0"},
                       {"max_message_bytes", "0"}};
  for (const auto& [name, value] : bad) {
    persia_server* server = nullptr;
    ExpectError(Start(PERSIA_SHARD,
                      {{"recovery_folder", folder}, {name, value}}, &server),
                Code::kInvalidArgument, name + " must be ");
    EXPECT_EQ(server, nullptr);
    EXPECT_FALSE(std::filesystem::exists(folder)) << name;
  }
}

TEST(ServerOption, IsNamedByItsIndex) {
  for (const int kind : {PERSIA_SHARD, PERSIA_WORKER}) {
    std::set<std::string> names;
    const char* name = nullptr;
    int index = 0;
    for (; persia_server_option(kind, index, &name) == 0; ++index) {
      names.insert(name);
    }
    EXPECT_EQ(names.size(), static_cast<size_t>(index));
    EXPECT_EQ(names.count("max_connections"), 1u);
    EXPECT_EQ(names.count("cache_rows"), kind == PERSIA_WORKER ? 1u : 0u);
    ExpectError(persia_server_option(kind, index, &name), Code::kNotFound,
                "there is no option");
    ExpectError(persia_server_option(kind, -1, &name), Code::kNotFound,
                "there is no option -1");
  }
}

TEST(ServerOption, AKindThatIsNoneIsRefused) {
  const char* name = nullptr;
  for (const int kind : {-1, 2}) {
    ExpectError(persia_server_option(kind, 0, &name), Code::kInvalidArgument,
                "kind must be PERSIA_SHARD or PERSIA_WORKER, received " +
                    std::to_string(kind));
  }
}

TEST(ServerStart, ATokenIsForShardsWorkersSessionsAndStats) {
  constexpr char kToken[] = "a token of this test";
  persia_server *shard = nullptr, *worker = nullptr;
  Options options = OptionsOf(0);
  options["auth_token"] = kToken;
  ExpectOk(Start(PERSIA_SHARD, options, &shard));
  const std::string behind =
      "127.0.0.1:" + std::to_string(persia_server_port(shard));
  ExpectOk(StartWorker(options, behind, 0, &worker));
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
      Code::kUnauthenticated, "this server requires a token");
  ExpectOk(
      persia_stats_fetch(front.c_str(), kToken, nullptr, kTimeout, &stats));
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 0, &process));
  EXPECT_EQ(CounterOf(process.counters, "refused_connections"), 1u);
  ExpectOk(persia_stats_process(stats, 1, &process));
  EXPECT_EQ(CounterOf(process.counters, "refused_connections"), 0u);
  persia_stats_free(stats);
  persia_server_free(worker);
  persia_server_free(shard);
}

TEST_F(ServerTest, AWorkerServesSessionsInFrontOfIt) {
  persia_server* worker = nullptr;
  const Options options = OptionsOf(0);
  ExpectOk(StartWorker(options, address_, 100, &worker));
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
  EXPECT_EQ(CounterOf(process.counters, "lookups"), 1u);
  ExpectOk(persia_stats_process(stats, 1, &process));
  EXPECT_EQ(process.address, address_);
  persia_stats_free(stats);
  ExpectOk(persia_session_close("behind"));
  ExpectOk(persia_server_stop(worker, 10));
  persia_server_free(worker);
}

TEST_F(ServerTest, AWorkerFollowsAShardThatMoves) {
  persia_server* worker = nullptr;
  persia_server* other = nullptr;
  ExpectOk(StartWorker(OptionsOf(0), address_, 0, &worker));
  ExpectOk(StartServer(0, 1, &other));
  ASSERT_TRUE(worker != nullptr && other != nullptr);
  const std::string moved =
      "127.0.0.1:" + std::to_string(persia_server_port(other));
  ExpectOk(persia_server_move_shard(worker, 0, moved.c_str()));
  const std::string asked =
      "127.0.0.1:" + std::to_string(persia_server_port(worker));
  persia_stats* stats = nullptr;
  ExpectOk(
      persia_stats_fetch(asked.c_str(), nullptr, nullptr, kTimeout, &stats));
  persia_process_stats process;
  ExpectOk(persia_stats_process(stats, 1, &process));
  EXPECT_EQ(process.address, moved);
  persia_stats_free(stats);
  ExpectError(persia_server_move_shard(worker, 1, moved.c_str()),
              Code::kInvalidArgument, "shard must be below 1");
  persia_server_free(worker);
  persia_server_free(other);
}

TEST_F(ServerTest, AShardHasNoShardsThatCouldMove) {
  ExpectError(persia_server_move_shard(server_, 0, "127.0.0.1:1"),
              Code::kFailedPrecondition, "no shard can move");
}

TEST(WorkerStart, RefusesArgumentsThatCannotBe) {
  persia_server* worker = nullptr;
  const auto start = [&](int port, int io_threads, const char* addresses,
                         double timeout, uint64_t cache_rows) {
    Options options = OptionsOf(port, io_threads);
    options["timeout"] = std::to_string(timeout);
    return StartWorker(options, addresses, cache_rows, &worker);
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

}  // namespace
}  // namespace persia
