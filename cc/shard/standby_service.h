// StandbyService: a standby, which keeps a copy of a shard, its primary, by the
// primary's log, and takes its place: see standby_request.h.
//
// Until then it refuses requests with kStandby. From then on it is the shard.
// Nothing but a request, kPromote, lets it take the place: no time-out does.
// Thread-safe, as EmbeddingService says.

#ifndef PERSIA_CC_SHARD_STANDBY_SERVICE_H_
#define PERSIA_CC_SHARD_STANDBY_SERVICE_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/local_service.h"
#include "cc/shard/replayed_shard.h"
#include "cc/shard/standby_folder.h"

namespace persia {

struct StandbyOptions {
  // With a recovery folder of the standby's own, RecoveryLevel::kLog, and
  // `connect`.
  LocalServiceOptions local;
  std::string primary;  // "host:port".
};

class StandbyService : public EmbeddingService {
 public:
  // Opens the recovery folder. If it says that the standby has taken its
  // primary's place before, the service is a shard at once. Blocks while it
  // reads the folder. kFailedPrecondition if the folder is that of a shard.
  static Result<std::unique_ptr<StandbyService>> Open(
      const StandbyOptions& options);
  ~StandbyService() override;

  // Begins to copy the primary; once this process is a shard, tells the others.
  // `address` is where clients reach this process.
  void Begin(const std::string& address);

  void Stats(StatsRequest* request, DoneCallback done) override;
  void Standby(StandbyRequest* request, DoneCallback done) override;
  // Until it is a shard, it is a process that belongs to no cluster.
  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override;
  SharedTopology CurrentTopology() const override;

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override;

 private:
  // Above every position.
  static constexpr uint64_t kNoEnd = ~uint64_t{0};

  struct Promotion {
    bool primary_is_gone;
    DoneCallback done;
  };

  explicit StandbyService(const StandbyOptions& options) : options_(options) {}

  // All below run on the thread.
  void Run();
  // Copies the primary until this process is a shard, or an error ends it.
  Status Follow();
  Status OpenCopy();
  Status Copy();
  // Refuses to replace a copy by that of a primary that has less.
  Status CheckPrimary(const StandbyRequest& begun) const;
  Status CopyBase(const StandbyRequest& begun);
  // Receives records once, and replays them.
  Status FollowOnce();
  Status Replay(const StandbyRequest& reply);
  Status Promote();
  Status Retire();
  Status TakePlace();
  void Spread();
  bool TellAll(std::set<std::string>* told);
  // Tells another shard what this one knows, and learns what that knows.
  bool ExchangeWith(const std::string& address);
  // Whether the log's last topology says that a standby has taken the primary's
  // place, and whether it is one at this address.
  bool IsReplaced() const;
  bool NamesThis() const;
  bool HasAllRows() const;

  // Calls the primary. Ends with kCancelled if the service ends, or as soon as
  // somebody says that the primary is gone.
  Status CallPrimary(StandbyRequest* request, double seconds);
  bool Pause(double seconds);
  void EndPromotions(const Status& outcome);
  void Close();
  // mutex_ must be held.
  bool IsToldThatPrimaryIsGone() const;

  const StandbyOptions options_;
  std::string address_;
  // Not null once this process is the shard.
  std::atomic<EmbeddingService*> serving_{nullptr};
  std::atomic<uint64_t> position_{0};

  // All below are used by the thread alone, until it ends.
  std::unique_ptr<EmbeddingService> source_;
  std::unique_ptr<ReplayedShard> shard_;
  std::unique_ptr<EmbeddingService> promoted_before_;
  uint64_t standby_ = 0;
  FolderState state_ = FolderState::kNone;  // Of the copy.
  bool is_named_ = false;  // Whether the primary has made this one the shard.
  uint64_t end_ = kNoEnd;  // Of the primary's log, when it last answered.

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_, except thread_.
  std::vector<Promotion> promotions_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_STANDBY_SERVICE_H_
