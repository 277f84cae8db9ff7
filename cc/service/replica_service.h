// ReplicaService: a copy of one shard, which follows it and answers lookups
// that are read only.
//
// A thread of its own asks the source what changed, again and again, and goes
// on from where it was when the source comes back. Meanwhile it answers with
// what it has: rows that are older than the source's by the time since it was
// last complete, which Stats tells.
//
// It tells others what changed in its turn, so replicas can follow replicas.
// Before it is ready, and while its source is away, that fails with
// kUnavailable: who follows it must not take its rows for those of now.
// Whatever writes is refused with kFailedPrecondition, and so is a table that
// the source does not have. Thread-safe, as EmbeddingService says; calls are
// done before they return.

#ifndef PERSIA_CC_SERVICE_REPLICA_SERVICE_H_
#define PERSIA_CC_SERVICE_REPLICA_SERVICE_H_

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
#include "cc/service/replica_rows.h"

namespace persia {

struct ReplicaOptions {
  std::string source;  // "host:port" of the source, for those who ask.
  StoreLimits limits;
  // Between two requests, once nothing is left to tell.
  double pause_seconds = 0.1;
  double request_seconds = 10;
  // After requests that fail; each is twice as long as the one before.
  double first_backoff_seconds = 0.1;
  double max_backoff_seconds = 5;
  // How long its end may take the source.
  double goodbye_seconds = 1;
  uint64_t max_rows = 65536;   // Of a request.
  EventLog* events = nullptr;  // Must outlive the service; or null.
};

class ReplicaService : public EmbeddingService {
 public:
  // Follows the shard 0 of `source` from now on. Errors are of memory.
  static Result<std::unique_ptr<ReplicaService>> Start(
      std::unique_ptr<EmbeddingService> source, const ReplicaOptions& options);
  ~ReplicaService() override;

  // Whether it had, once, all that the source has.
  bool ready() const { return complete_at_.load() != Clock::time_point::min(); }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Lookup(LookupRequest* request, DoneCallback done) override;
  void Update(UpdateRequest* request, DoneCallback done) override;
  void Stats(StatsRequest* request, DoneCallback done) override;
  void Export(ExportRequest* request, DoneCallback done) override;
  void DropTable(DropTableRequest* request, DoneCallback done) override;
  void Changes(ChangesRequest* request, DoneCallback done) override;
  void Assign(AssignRequest* request, DoneCallback done) override;
  void Remove(RemoveRequest* request, DoneCallback done) override;
  void Checkpoint(CheckpointRequest* request, DoneCallback done) override;

 private:
  ReplicaService(std::unique_ptr<EmbeddingService> source,
                 std::unique_ptr<ReplicaRows> rows,
                 const ReplicaOptions& options);

  Status Refusal() const;
  Status CheckTable(const TableConfig& asked) const;
  // Fails while it cannot tell all that changes: who is told less than all rows
  // would drop what it has.
  Status CheckCurrent() const;
  void Run();
  // How long to pause.
  Result<double> FollowOnce();
  // Frees what the source noted for it.
  void SayGoodbye();
  Status AskSource(ChangesRequest* request);
  void NoteOutcome(const Status& status);
  // False once the service ends.
  bool Pause(double seconds);

  const ReplicaOptions options_;
  const std::unique_ptr<ReplicaRows> rows_;
  std::atomic<Clock::time_point> complete_at_{Clock::time_point::min()};
  // Whether the source, or applying what it told, failed last.
  std::atomic<bool> is_away_{false};
  bool source_answers_ = false;  // The thread's.
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;  // Guarded by mutex_.
  bool ended_ = false;   // The thread; guarded by mutex_.
  // Guarded by mutex_; null once it ends.
  std::unique_ptr<EmbeddingService> source_;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_REPLICA_SERVICE_H_
