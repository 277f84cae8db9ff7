// StandbyFeed: the part of a shard that copies its log to its standby: see
// standby_request.h.
//
// Thread-safe. Requests run on a thread of their own, which waits for files and
// for records. The destructor ends the waiting requests with kCancelled.

#ifndef PERSIA_CC_SHARD_STANDBY_FEED_H_
#define PERSIA_CC_SHARD_STANDBY_FEED_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/journal/journal.h"
#include "cc/log/log_tail.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/acknowledgements.h"
#include "cc/shard/membership.h"
#include "cc/shard/ownership.h"

namespace persia {

class StandbyFeed {
 public:
  // All must outlive this object.
  struct Subject {
    Journal* journal;
    const Ownership* ownership;
    Membership* membership;
    Acknowledgements* acknowledgements;
    EventLog* events;  // May be null.
  };

  explicit StandbyFeed(const Subject& subject);
  ~StandbyFeed();
  StandbyFeed(const StandbyFeed&) = delete;
  StandbyFeed& operator=(const StandbyFeed&) = delete;

  void Do(StandbyRequest* request, DoneCallback done);

 private:
  struct Call {
    StandbyRequest* request;
    DoneCallback done;
  };

  // What the thread and callbacks of the log share.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    // All below are guarded by mutex.
    std::deque<Call> calls;
    bool watches_log = false;  // Whether the log will tell of a record.
    Status log;                // Why the log takes no more records.
    bool ending = false;
  };

  // All below run on the thread.
  void Run();
  // Waits for a call, and forgets a standby that is silent for too long.
  // Returns nullopt when the feed ends.
  std::optional<Call> Next();
  Status Serve(StandbyRequest* request);
  Status Begin(StandbyRequest* request);
  Status SendBase(StandbyRequest* request);
  Status SendRecords(StandbyRequest* request);
  Status CheckSession(const StandbyRequest& request);
  Status OpenTail(const StandbyRequest& request);
  Status CheckLast(const StandbyRequest& request);
  Status WaitForRecord(const StandbyRequest& request);
  Status Register(const StandbyRequest& request);
  Status CheckFree(const StandbyRequest& request) const;
  void Forget();

  const Subject subject_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  // All below are used by the thread alone.
  uint64_t standby_ = 0;  // The one that has the session; 0: none.
  std::string address_;   // Of that standby.
  Clock::time_point heard_at_;
  std::unique_ptr<ReadableFile> base_;
  uint64_t base_offset_ = 0;
  std::optional<LogTail> tail_;
  bool reads_records_ = false;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_STANDBY_FEED_H_
