// ReplicaService: a copy of one shard, which follows the shard and answers
// read-only lookups.
//
// A thread of its own polls the source for changes. While the source is
// unavailable, the replica answers with the rows that it has; when the source
// returns, it continues after the last change that it applied. The rows may lag
// the source by the time since the replica was last complete, which Stats
// reports.
//
// A replica answers Changes too, so others can follow it. Before it is ready,
// and while it cannot follow its source, Changes fails with kUnavailable: a
// follower must not mistake the replica's rows for current ones. Requests that
// write fail with kFailedPrecondition, and so does CreateTable if the source
// does not have the table. Thread-safe, as EmbeddingService says; `done` is
// called before each call returns.

#ifndef PERSIA_CC_SHARD_REPLICA_SERVICE_H_
#define PERSIA_CC_SHARD_REPLICA_SERVICE_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cc/base/clock.h"
#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/replica_rows.h"

namespace persia {

struct ReplicaOptions {
  std::string source;  // "host:port" of the source, shown in Stats and errors.
  StoreLimits limits;
  // Pause between two requests while the source has nothing to send.
  double pause_seconds = 0.1;
  double request_seconds = 10;
  // Pause after a failed request; doubled after each further failure, up to
  // max_backoff_seconds.
  double first_backoff_seconds = 0.1;
  double max_backoff_seconds = 5;
  // How long the destructor waits for the source to confirm that this follower
  // ends.
  double goodbye_seconds = 1;
  uint64_t max_rows = 65536;   // Most rows per request.
  EventLog* events = nullptr;  // May be null; must outlive the service.
};

class ReplicaService : public EmbeddingService {
 public:
  // Starts to follow shard 0 of `source`. Fails only if memory runs out or the
  // system supplies no random number.
  static Result<std::unique_ptr<ReplicaService>> Start(
      std::unique_ptr<EmbeddingService> source, const ReplicaOptions& options);
  ~ReplicaService() override;

  // Whether this replica has ever had all rows of its source.
  bool ready() const { return complete_at_.load() != Clock::time_point::min(); }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Lookup(LookupRequest* request, DoneCallback done) override;
  void Stats(StatsRequest* request, DoneCallback done) override;
  void Export(ExportRequest* request, DoneCallback done) override;
  void Changes(ChangesRequest* request, DoneCallback done) override;
  // A replica is no shard of a cluster.
  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override;

 protected:
  // Refuses all other calls: only the shard that this replica follows performs
  // them.
  void OtherCall(const AnyRequest& request, DoneCallback done) override;

 private:
  ReplicaService(std::unique_ptr<EmbeddingService> source,
                 std::unique_ptr<ReplicaRows> rows,
                 const ReplicaOptions& options);

  Status Refusal() const;
  Status CheckTable(const TableConfig& asked) const;
  // Fails if ids belong to other shards than the source, or to slots that this
  // replica has not got whole yet. The order in which a program lists replicas
  // decides which of them it asks for an id.
  Status CheckSlots(const LookupRequest& request) const;
  // Fails while this replica cannot report every change of the source. A
  // follower that received only some of the rows would drop its other rows.
  Status CheckCurrent() const;
  void Run();
  // Requests changes from the source once and applies them. Returns how many
  // seconds to pause before the next request.
  Result<double> FollowOnce();
  // Sends the source a request that ends this follower, so that the source
  // frees the memory that it uses for the follower.
  void SayGoodbye();
  Status SendToSource(ChangesRequest* request);
  void NoteOutcome(const Status& status);
  // Sleeps, but returns false as soon as the service is being destroyed.
  bool Pause(double seconds);

  const ReplicaOptions options_;
  const std::unique_ptr<ReplicaRows> rows_;
  std::atomic<Clock::time_point> complete_at_{Clock::time_point::min()};
  // Whether the last request to the source, or applying its answer, failed.
  std::atomic<bool> is_away_{false};
  bool source_answers_ = false;  // Used by thread_ only.
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;  // Guarded by mutex_.
  bool ended_ = false;   // Whether thread_ is done; guarded by mutex_.
  // Guarded by mutex_; null once the service is being destroyed.
  std::unique_ptr<EmbeddingService> source_;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REPLICA_SERVICE_H_
