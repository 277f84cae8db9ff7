// SlotTaker: takes slots over from another shard, in the background: see
// hand_over_request.h and move_request.h.
//
// Thread-safe. The destructor stops the move, and waits for the thread.

#ifndef PERSIA_CC_SHARD_SLOT_TAKER_H_
#define PERSIA_CC_SHARD_SLOT_TAKER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/move_control.h"
#include "cc/shard/slot_move.h"

namespace persia {

// Connects to the shard at an address, alone.
using ConnectToShard = std::function<Result<std::unique_ptr<EmbeddingService>>(
    const std::string& address)>;

class SlotTaker {
 public:
  // All must outlive this object.
  struct Subject {
    MoveSubject move;
    ConnectToShard connect;  // May be null: the shard takes no slots over.
    EventLog* events;        // May be null.
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
  MoveControl control_;
  std::mutex starting_;  // Held by Start and Stop; guards the members below.
  MoveRequest move_;     // The thread reads it.
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SLOT_TAKER_H_
