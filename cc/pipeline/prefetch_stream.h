// PrefetchStream: batches whose ids were registered ahead of the step that
// will ask for them, in the order in which a dataset yields them.
//
// A batch's lookups are sent, as one request, once at most `staleness` earlier
// steps of the stream are between their lookup and the acknowledgement of their
// update. The step's own lookups then claim them: a claim is matched by layer
// and ids (and what bags they are in), first in, first out. A claim of a batch
// that was not sent yet takes it over, to be sent at once. Batches that were
// passed over, because a later one is claimed, are dropped; so is everything
// once the stream is closed. Nothing waits for a claim that never comes.
//
// Whether a stream trains is told by its first claim, so its first batch is
// never sent ahead. What is registered for the other case is left out then. (An
// evaluation may claim what is then trained on: the first claim of a training
// step decides anew.) In evaluation a batch takes no place in the window.
//
// Thread-safe; never blocks. It must be owned by a std::shared_ptr.

#ifndef PERSIA_CC_PIPELINE_PREFETCH_STREAM_H_
#define PERSIA_CC_PIPELINE_PREFETCH_STREAM_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/pipeline/fused_lookup.h"
#include "cc/pipeline/layer_lookup.h"
#include "cc/pipeline/lookup_planner.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/session.h"

namespace persia {

class PrefetchStream : public std::enable_shared_from_this<PrefetchStream> {
 public:
  struct Callbacks {
    // Sends ahead; from one thread at a time. The rows must reflect the
    // program's updates up to this one.
    std::function<void(std::shared_ptr<FusedLookup>, uint64_t sequence)> send;
    // Runs work on another thread, soon.
    std::function<void(std::function<void()>)> run_later;
    // A batch was dropped that no step has taken.
    std::function<void()> on_dropped;
  };

  // Twice what the window holds, and this many, may wait for a claim; of more,
  // the oldest is dropped: nobody claims it.
  static constexpr size_t kSpareBatches = 64;

  // The id is the session's. `planner` and `pushes` must outlive the stream.
  PrefetchStream(uint64_t id, const StreamOptions& options,
                 const LookupPlanner* planner, const PushQueue* pushes,
                 Callbacks callbacks);
  ~PrefetchStream();

  // Adds the next batch.
  void Register(std::vector<PrefetchIds> layers);

  struct Claim {
    std::shared_ptr<LayerLookup> lookup;  // Null: nothing matches.
    // What the caller must send now: the batch was not sent yet, or so long ago
    // that its rows are too stale. The lookup is in one of them.
    std::vector<std::shared_ptr<FusedLookup>> to_send;
    bool was_stale = false;
    // At the first claim of a training batch that was sent ahead: how many
    // committed steps its rows do not reflect.
    std::optional<uint64_t> staleness;
  };

  // What was registered for `call`, which is then claimed. To be followed by
  // SendWhatMayGo.
  Claim TakeMatch(const LookupCall& call);

  // Sends ahead what a claim has made room for: after what the claim itself
  // needs, which is more urgent.
  void SendWhatMayGo();

  // Drops every batch that is not claimed.
  void Close();

  // Batches that wait for a claim.
  size_t depth() const;

 private:
  enum class Mode { kUnknown, kTraining, kReading };
  struct Entry;
  struct Batch;

  uint64_t StepOf(uint64_t number) const;
  bool Trains(const Entry& entry) const;
  bool IsLeftOut(const Entry& entry) const;
  bool IsClaimed(const Batch& batch) const;
  Batch* Find(const LookupCall& call, Entry** match);
  bool IsStale(const Entry& entry) const;
  uint64_t MissingUpdates(const Entry& entry) const;
  uint64_t StalenessOf(const Batch& batch) const;
  std::vector<std::shared_ptr<FusedLookup>> Fuse(
      Batch* batch, std::optional<uint64_t> visible_ahead,
      const std::function<bool(const Entry&)>& is_wanted);
  void Drop(Batch* claimed, std::vector<Batch>* dropped);
  void DropOldest(std::vector<Batch>* dropped);

  void OpenSlot(Batch* batch);
  void OnSlotFreed(uint64_t number);
  void SendAheadLater();
  void SendAhead();
  Batch* NextToSend();
  uint64_t VisibleTo(const Batch& batch) const;
  size_t MostBatches() const;
  void TrainAfterAll();

  const uint64_t id_;
  const StreamOptions options_;
  const LookupPlanner* const planner_;
  const PushQueue* const pushes_;
  const Callbacks callbacks_;

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  Mode mode_ = Mode::kUnknown;
  uint64_t next_number_ = 0;
  std::deque<Batch> batches_;
  // Batches whose slot is taken, by number: whether their update is queued.
  // (Not their slots: the last to let go of one must not hold mutex_.)
  std::map<uint64_t, std::shared_ptr<const std::atomic<bool>>> window_;
  bool sending_ = false;  // SendAhead runs, or is about to.
  bool closed_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PREFETCH_STREAM_H_
