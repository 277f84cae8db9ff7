// SlotMoves: the parts of a shard that take slots over from other shards, and
// hand them over to other shards.
//
// Thread-safe. HandOver and Move run on a thread of their own, which observes
// deadlines. Requests that wait for slots when the object is destroyed go on:
// call End before if they then use what is destroyed first.

#ifndef PERSIA_CC_SHARD_SLOT_MOVES_H_
#define PERSIA_CC_SHARD_SLOT_MOVES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "cc/base/event_log.h"
#include "cc/saving/file_thread.h"
#include "cc/saving/gate.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/held_slots.h"
#include "cc/shard/membership.h"
#include "cc/shard/row_placer.h"
#include "cc/shard/slot_giver.h"
#include "cc/shard/slot_taker.h"
#include "cc/shard/table_changer.h"
#include "cc/shard/table_maker.h"
#include "cc/writing/row_writer.h"

namespace persia {

class SlotMoves {
 public:
  // All must outlive this object. `events` may be null.
  struct Subject {
    ShardSlots slots;
    Membership* membership;
    Gate* gate;
    const std::atomic<uint64_t>* generation;
    TableMaker* maker;
    TableChanger* changer;
    RowWriter* writer;
    FileThread* file_thread;
    ConnectToShard connect;  // May be null: the shard takes no slots over.
    std::function<uint64_t()> requests;  // How many for rows there were so far.
    // Called after each change of rows.
    std::function<void()> on_change;
    EventLog* events;
  };

  explicit SlotMoves(const Subject& subject);

  void HandOver(HandOverRequest* request, DoneCallback done);
  void Move(MoveRequest* request, DoneCallback done);

  // From time to time, joins what was applied to slots that were taken over
  // with what was applied to the others, and removes the rows of slots that
  // were given away. Cheap: call it often.
  void TidyWhenDue();

  // Lets TidyWhenDue remove the rows of slots that were given away, in a while:
  // a taker gets several groups of slots, one after the other, and says when it
  // has the last one. Then one walk over all rows is enough.
  void DelaySweep();

  // Lets all requests go on that wait for slots. None waits from then on. Call
  // it once no reply can reach a client any more: the slots of some may have
  // been handed over.
  void End() { held_.End(); }

  HeldSlots* held() { return &held_; }

 private:
  void JoinWhenDue();
  void SweepLater();

  const Subject subject_;
  HeldSlots held_;
  SlotGiver giver_;
  RowPlacer placer_;
  SlotTaker taker_;
  std::atomic<bool> joins_{false};
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // When to sweep, as the time since Clock's epoch.
  std::atomic<int64_t> sweep_at_{kNever};
  // Whether a sweep waits. Shared with it, since it may outlive this object.
  const std::shared_ptr<std::atomic<bool>> sweeps_ =
      std::make_shared<std::atomic<bool>>(false);
  FileThread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SLOT_MOVES_H_
