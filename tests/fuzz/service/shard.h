// Shard: a service that is killed and restarted, and what it must have then.
// Not thread-safe, except for Call.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_SHARD_H_
#define PERSIA_TESTS_FUZZ_SERVICE_SHARD_H_

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cc/shard/local_service.h"
#include "cc/topology/topology.h"
#include "tests/fuzz/service/disk.h"
#include "tests/fuzz/service/model.h"
#include "tests/fuzz/service/require.h"

namespace persia {

// A folder of this process on the machine, which is removed at its end.
// Journals lock a file in it.
const std::string& MachineFolder();

// A base is due after so many bytes of log; the log of a program's own steps is
// shorter.
inline constexpr uint64_t kBaseBytes = 24 << 10;

// The number of shards of a cluster, whose slots are even.
inline constexpr int kShardCount = 2;

// Whether the shard with this number owns the id.
bool Owns(int shard, int64_t id);

class Shard {
 public:
  struct Options {
    SyncMode sync = SyncMode::kDevice;
    uint64_t base_bytes = kBaseBytes;
    bool has_limits = true;
  };

  Shard(Disk* disk, int number, const Options& options);
  ~Shard();

  EmbeddingService* service() { return service_.get(); }
  ProcessFiles* files() { return files_.get(); }
  int number() const { return number_; }
  // Returns the shard's id.
  uint64_t AskMember();
  // Makes the shard a member of a cluster, with this id.
  void Join(const Topology& topology, uint64_t member);
  // What its clients know of its slots: see Topology::RouteOf.
  uint64_t route() const { return route_; }

  // Ends the process as a kill does, and starts it again; with `loses_power`,
  // data that was not synced is lost too.
  void Crash(bool loses_power);

  // The same. Fails unless the shard then has one of `possible`, which becomes
  // `model`; returns which.
  size_t Kill(bool loses_power, const std::vector<ShardModel>& possible);

  // The same, except that the process ends when it is told to.
  void Restart();

  // What the shard has, as a client sees it.
  ShardModel Look();
  ModelRows RowsOf(const std::string& table);

  // Fails unless the shard has all of `model`.
  void Check();

  // Waits until no save or restore runs, or the process has died. Returns the
  // outcome of the last one; kCancelled if none has ended.
  Status WaitForJob();

  // Waits for the outcome of service->method(request). If that takes long,
  // threads that are held are released.
  template <typename Request>
  Status Call(void (EmbeddingService::*method)(Request*, DoneCallback),
              Request* request) {
    request->deadline = DeadlineAfter(600);
    std::promise<Status> outcome;
    auto ended = outcome.get_future();
    (service()->*method)(
        request, [&](Status status) { outcome.set_value(std::move(status)); });
    if (ended.wait_for(kHeld) != std::future_status::ready) {
      files_->Release();
      Require(ended.wait_for(HangTime()) == std::future_status::ready,
              "a call of shard ", number_, " ends");
    }
    return ended.get();
  }

  ShardModel model;

 private:
  static constexpr std::chrono::milliseconds kHeld{200};

  void Open();
  void End();

  Disk& disk_;
  const int number_;
  const Options options_;
  const std::string folder_;
  std::unique_ptr<ProcessFiles> files_;
  std::unique_ptr<EmbeddingService> service_;
  uint64_t route_ = 0;
};

// Makes new shards a cluster.
void FormCluster(const std::unique_ptr<Shard> (&shards)[kShardCount]);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_SHARD_H_
