// Membership: the part of a shard that knows its cluster, and that changes
// which slots the shard owns.
//
// Thread-safe. Only one topology changes at a time. Functions that change the
// shard's own slots close the gate for a moment: callers must not be inside.

#ifndef PERSIA_CC_SHARD_MEMBERSHIP_H_
#define PERSIA_CC_SHARD_MEMBERSHIP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/journal/journal.h"
#include "cc/saving/gate.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/ownership.h"
#include "cc/shard/prepared_slots.h"
#include "cc/store/store.h"
#include "cc/writing/journal_records.h"
#include "cc/writing/slot_windows.h"

namespace persia {

// Which slots a shard owns, which it will own, and what was applied to them.
struct ShardSlots {
  Ownership* ownership;
  PreparedSlots* prepared;
  SlotWindows* windows;
  Store* store;
};

// Runs `work` unless rows of a checkpoint are about to replace those of the
// shard, and lets none do so meanwhile: returns kFailedPrecondition, or what
// `work` returns.
using UnlessRestoring =
    std::function<Status(const std::function<Status()>& work)>;

// Gives the store its share of all rows: that of the slots that the shard owns
// or takes over, and of `others`.
void SetShare(const ShardSlots& slots, const SlotSet& others);

// The description of a shard whose place its standby at `address` has taken.
Member TakenPlace(Member member, const std::string& address);

// Gives the shard another topology, and so perhaps other slots. Returns the
// slots that it no longer owns. The caller then calls SetShare. Must run while
// no other thread uses the slots.
SlotSet Adopt(const ShardSlots& slots, SharedTopology topology);

class Membership {
 public:
  // All must outlive this object.
  struct Subject {
    ShardSlots slots;
    Gate* gate;
    std::atomic<uint64_t>* generation;
    Journal* journal;                       // May be null.
    UnlessRestoring unless_restoring = {};  // May be null: nothing restores.
    // Called when the shard's own slots change, while the gate is closed. May
    // be null.
    std::function<void()> on_moved = {};
    // Blocks until the log is safe up to a position: durable, and at the
    // standby too if there is one. Null: durable is enough.
    std::function<Status(uint64_t position)> block_until_safe = {};
  };

  explicit Membership(const Subject& subject)
      : subject_(subject), logged_(subject.slots.ownership->topology()) {}

  // Learns from a request, and sets its outputs, which are durable once the log
  // is durable up to `*log_end`.
  Status Exchange(TopologyRequest* request, uint64_t* log_end);

  // Learns a topology. Blocks until that is durable.
  Status Learn(const std::vector<uint8_t>& topology);

  // As Subject::unless_restoring.
  Status UnlessRestoring(const std::function<Status()>& work) const;

  // Names the shard's standby: where it answers.
  Status SetStandby(const std::string& address);
  // Records durably that the shard's standby, which answers at `address`, has
  // taken its place, and that this process owns nothing any more. Blocks until
  // that is durable here. kFailedPrecondition if it has no such standby.
  Status Retire(const std::string& address);

  // Records durably that these slots are the member `taker`'s, which this shard
  // owns, and that requests for them are held. Blocks until that is durable.
  // kFailedPrecondition if this shard does not own them, or there is no such
  // member. The shard's rows of these slots are left as they are.
  Status GiveAway(const SlotSet& slots, uint64_t taker);

  // Begins to take slots over: removes all rows that the shard has of them, and
  // makes `generation` that of the shard's tables. kFailedPrecondition if the
  // shard owns some of the slots, if it owns others and its generation differs,
  // or during a restore.
  Status BeginTaking(const SlotSet& slots, uint64_t generation);
  // Records durably, and at the standby, that the shard has all that belongs to
  // these slots, which it will own once it learns a topology that says so.
  Status Prepare(const SlotsApplied& applied);
  // Gives up taking slots over that the shard does not own yet, and removes
  // their rows.
  Status StopTaking(const SlotSet& slots);
  // The slots that are being taken over.
  SlotSet arriving();

  // Removes the rows of slots that the shard has given away. Walks over all
  // rows.
  void Sweep();

  // Slots that the shard has given away, or is about to take over, whose rows
  // it still has.
  SlotSet given_away();

  // Appends to the log what a log must say of the shard, as a base lacks it.
  // Also that rows of `unswept` go, as far as the shard does not own these
  // slots: the base has them if a Sweep has ended since it was begun. Callers
  // have closed the gate, or no other thread uses the shard yet.
  Status LogAll(const SlotSet& unswept = SlotSet());

 private:
  Status BeginArrival(const SlotSet& slots, uint64_t generation);
  // Shows another topology, after it has logged the topology `logged`, unless
  // that is null. Closes the gate if the shard's own slots change. changing_
  // must be held.
  Status Use(const SharedTopology& shown,
             const SharedTopology* logged = nullptr,
             uint64_t* log_end = nullptr);
  SharedTopology Logged();
  void Clear(const SlotSet& slots);
  Status BlockUntilSafe();
  Status ChangeOwn(const std::function<Status(Member* own)>& change,
                   uint64_t* log_end);

  // The functions below require mutex_ to be held.
  Status Log(const RecordBody& record, uint64_t* log_end);
  Status LogTopology(const SharedTopology& topology, uint64_t* log_end);
  Status LogCleared(const SlotSet& slots, bool arrives, bool removes);

  const Subject subject_;
  // Held while the shard's topology changes. Locked before the gate is closed.
  std::mutex changing_;
  // Held while rows of slots that the shard does not own are removed.
  std::mutex clearing_;
  // Locked last, and only shortly.
  std::mutex mutex_;
  // All below, and the prepared slots, are guarded by mutex_.
  //
  // What the log says. It may say more than the shard shows to others, as long
  // as it is not durable that slots are given away.
  SharedTopology logged_;
  SlotSet given_away_;  // Slots whose rows are still there.
  // Those of them that were handed over. They count for the shard's share until
  // their rows are removed: else rows that stay would be evicted instead.
  SlotSet handed_over_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_MEMBERSHIP_H_
