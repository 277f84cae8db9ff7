// SlotTaker: takes slots over from another shard, in the background: see
// hand_over_request.h and move_request.h.
//
// Thread-safe. The destructor stops the move, and waits for the thread.

#ifndef PERSIA_CC_SHARD_SLOT_TAKER_H_
#define PERSIA_CC_SHARD_SLOT_TAKER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/membership.h"
#include "cc/shard/row_placer.h"

namespace persia {

// Connects to the shard at an address, alone.
using ConnectToShard = std::function<Result<std::unique_ptr<EmbeddingService>>(
    const std::string& address)>;

class SlotTaker {
 public:
  // All must outlive this object.
  struct Subject {
    ShardSlots slots;
    Membership* membership;
    RowPlacer* placer;
    ConnectToShard connect;
    // Called after each change of rows.
    std::function<void()> on_change;
    EventLog* events;  // May be null.
  };

  explicit SlotTaker(Subject subject) : subject_(std::move(subject)) {}
  ~SlotTaker();
  SlotTaker(const SlotTaker&) = delete;
  SlotTaker& operator=(const SlotTaker&) = delete;

  Status Do(MoveRequest* request);

 private:
  Status Start(const MoveRequest& request);
  void Stop();
  void Run(const MoveRequest& move);

  const Subject subject_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_, except thread_.
  MoveRequest move_;
  MoveProgress progress_;
  bool stopping_ = false;
  std::mutex starting_;  // Held by Start and Stop; guards thread_.
  std::thread thread_;

  friend class SlotMove;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SLOT_TAKER_H_
