// tls_bench: compares lookups and new connections with and without TLS. Run by
// benchmarks/tls_bench.py:
//
//   tls_bench CERTIFICATE KEY CA SECONDS ROUNDS
//
// Servers and clients are in one process, and take turns.

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"
#include "cc/base/hash.h"
#include "cc/client/remote_service.h"
#include "cc/server/server.h"
#include "cc/service/await.h"
#include "cc/shard/local_service.h"

namespace persia::bench {
namespace {

constexpr uint32_t kDim = 16;
constexpr size_t kRows = 100'000;
constexpr size_t kLargeRequest = 25'000;
constexpr size_t kSmallRequest = 100;
constexpr int kInFlight = 4;
constexpr size_t kConnections = 20;
constexpr double kDeadlineSeconds = 60;
constexpr char kTable[] = "tls_bench";

std::string ReadText(const char* path) {
  std::ifstream file(path);
  if (!file) Fail(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The elapsed time, and the processor time of the process, which other programs
// on the machine affect less.
struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;
};

class CostMeter {
 public:
  double seconds() const { return Now() - begin_; }
  // The cost per item of `count` items.
  Cost Each(size_t count) const {
    const double cpu =
        static_cast<double>(std::clock() - cpu_begin_) / CLOCKS_PER_SEC;
    return {seconds() / count, cpu / count};
  }

 private:
  const double begin_ = Now();
  const std::clock_t cpu_begin_ = std::clock();
};

// A server with a table, and connections to it.
class Side {
 public:
  explicit Side(std::shared_ptr<TlsContext> tls)
      : tls_(std::move(tls)), store_(MakeLocalService()) {
    ServerOptions options;
    options.tls = tls_;
    auto server = StartServer(store_.get(), options);
    CheckOk(server.status());
    server_ = std::move(*server);
    client_ = Connect();
    CreateTableRequest request;
    request.deadline = DeadlineAfter(kDeadlineSeconds);
    request.config.name = kTable;
    request.config.dim = kDim;
    request.config.initializer = {"uniform", {{"minval", -1}, {"maxval", 1}}};
    request.config.optimizer = {"sgd", {}};
    CheckOk(Await([&](DoneCallback done) {
      client_->CreateTable(&request, std::move(done));
    }));
    LookupCost(kRows, 0);
  }

  // The cost per row of lookups of `count` ids, with kInFlight in flight,
  // measured for `seconds`.
  Cost LookupCost(size_t count, double seconds) {
    std::vector<int64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<std::vector<float>> rows(kInFlight,
                                         std::vector<float>(count * kDim));
    std::vector<LookupRequest> requests(kInFlight);
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<int> free;
    for (int slot = 0; slot < kInFlight; ++slot) free.push_back(slot);
    size_t answered = 0;
    const CostMeter meter;
    for (size_t asked = 0; asked == 0 || meter.seconds() < seconds; ++asked) {
      int slot;
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return !free.empty(); });
        slot = free.back();
        free.pop_back();
      }
      TableLookup lookup;
      lookup.ids.table = HashName(kTable);
      lookup.ids.dim = kDim;
      lookup.ids.ids = ids;
      lookup.rows = rows[slot];
      requests[slot] = LookupRequest();
      requests[slot].deadline = DeadlineAfter(kDeadlineSeconds);
      requests[slot].tables.push_back(lookup);
      client_->Lookup(&requests[slot], [&, slot](const Status& status) {
        CheckOk(status);
        std::lock_guard<std::mutex> lock(mutex);
        ++answered;
        free.push_back(slot);
        changed.notify_one();
      });
    }
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return free.size() == requests.size(); });
    return meter.Each(answered * count);
  }

  // Creates `count` clients one after the other, each of which waits for its
  // first answer from the server. Returns the cost per client.
  Cost ConnectionCost(size_t count) {
    const CostMeter meter;
    for (size_t i = 0; i < count; ++i) {
      const auto client = Connect();
      StatsRequest request;
      request.deadline = DeadlineAfter(kDeadlineSeconds);
      CheckOk(Await([&](DoneCallback done) {
        client->Stats(&request, std::move(done));
      }));
    }
    return meter.Each(count);
  }

 private:
  std::unique_ptr<EmbeddingService> Connect() const {
    RemoteServiceOptions options;
    options.tls = tls_;
    auto client =
        MakeRemoteService({Concat("127.0.0.1:", server_->port())}, options);
    CheckOk(client.status());
    return std::move(*client);
  }

  const std::shared_ptr<TlsContext> tls_;
  const std::unique_ptr<EmbeddingService> store_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<EmbeddingService> client_;
};

// The costs of all rounds, without and with TLS.
struct Costs {
  void Add(bool is_secure, const Cost& cost) {
    seconds[is_secure].push_back(cost.seconds);
    cpu_seconds[is_secure].push_back(cost.cpu_seconds);
  }

  std::vector<double> seconds[2];
  std::vector<double> cpu_seconds[2];
};

int Main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s CERTIFICATE KEY CA SECONDS ROUNDS\n",
                 argv[0]);
    return 2;
  }
  auto tls =
      MakeTlsContext({ReadText(argv[1]), ReadText(argv[2]), ReadText(argv[3])});
  CheckOk(tls.status());
  const double seconds = std::atof(argv[4]);
  const int rounds = std::atoi(argv[5]);
  Side plain(nullptr);
  Side secure(*tls);
  Costs large, small, connection;
  for (int round = 0; round < rounds; ++round) {
    for (Side* side : {&plain, &secure}) {
      large.Add(side == &secure, side->LookupCost(kLargeRequest, seconds));
      small.Add(side == &secure, side->LookupCost(kSmallRequest, seconds));
      connection.Add(side == &secure, side->ConnectionCost(kConnections));
    }
  }
  Print("tls",
        {{"lookups_over_plain",
          Median(Ratios(large.seconds[0], large.seconds[1]))},
         {"lookup_cpu_over_plain",
          Median(Ratios(large.cpu_seconds[1], large.cpu_seconds[0]))},
         {"small_lookups_over_plain",
          Median(Ratios(small.seconds[0], small.seconds[1]))},
         {"small_lookup_cpu_over_plain",
          Median(Ratios(small.cpu_seconds[1], small.cpu_seconds[0]))},
         {"plain_mrows_per_second", 1e-6 / Median(large.seconds[0])},
         {"tls_mrows_per_second", 1e-6 / Median(large.seconds[1])},
         {"plain_connection_ms", 1e3 * Median(connection.seconds[0])},
         {"tls_connection_ms", 1e3 * Median(connection.seconds[1])},
         {"plain_connection_cpu_ms", 1e3 * Median(connection.cpu_seconds[0])},
         {"tls_connection_cpu_ms", 1e3 * Median(connection.cpu_seconds[1])}});
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
