// PrefetchStream: batches whose ids are registered before the step that looks
// them up, in the order in which a dataset yields them.
//
// A step is unfinished from its lookup until its update is acknowledged. A
// batch's lookups are sent together, ahead of their step, as soon as at most
// `staleness` earlier steps of the stream are unfinished.
//
// The step's own lookups then claim the registered ones: a claim takes the
// first registered lookup with the same layer, ids and bags. If the batch of a
// claim was not sent yet, it is sent at once.
// When a batch is claimed, all batches of earlier steps are dropped; closing
// the stream drops all batches. So a batch that is never claimed blocks
// nothing.
//
// The first claim determines whether the stream is for training or for
// evaluation, so the first batch is never sent ahead. Lookups that were
// registered only for the other use are then left out. (If an evaluation claims
// first and a training step claims later, the stream switches to training.) In
// evaluation, batches do not occupy places in the window.
//
// A stream is thread-safe and never blocks. It must be owned by a
// std::shared_ptr.

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
#include "cc/pipeline/lookup.h"
#include "cc/pipeline/lookup_planner.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/session.h"

namespace persia {

class PrefetchStream : public std::enable_shared_from_this<PrefetchStream> {
 public:
  struct Callbacks {
    // Sends a request ahead of its step; called by one thread at a time. The
    // rows must reflect this program's updates up to `sequence`.
    std::function<void(std::shared_ptr<FusedLookup>, uint64_t sequence)> send;
    // Schedules work on another thread.
    std::function<void(std::function<void()>)> run_later;
    // Called when a batch is dropped before any step has claimed one of its
    // lookups.
    std::function<void()> on_dropped;
  };

  // At most twice the window's size plus this many batches wait for a claim. If
  // there are more, the oldest batch is dropped, since no step is likely to
  // claim it.
  static constexpr size_t kSpareBatches = 64;

  // `id` is the session's StreamId. `planner` and `pushes` must outlive the
  // stream.
  PrefetchStream(uint64_t id, const StreamOptions& options,
                 const LookupPlanner* planner, const PushQueue* pushes,
                 Callbacks callbacks);
  ~PrefetchStream();

  // Registers the next batch: the ids that each layer will look up.
  void Register(std::vector<PrefetchIds> layers);

  struct Claim {
    std::shared_ptr<Lookup> lookup;  // Null if no lookup matches.
    // Requests that the caller must send now, because the batch was not sent
    // yet, its rows are too stale, or its request failed. If there are any,
    // `lookup` is in one of them.
    std::vector<std::shared_ptr<FusedLookup>> to_send;
    bool was_stale = false;  // True also if the request failed.
    // How many committed steps the batch's rows do not reflect. Set only at the
    // first claim of a training batch that was sent ahead and is not stale.
    std::optional<uint64_t> staleness;
  };

  // Claims the lookup that was registered for `call`. The caller must then send
  // `to_send` and call SendWhatMayGo.
  Claim TakeMatch(const LayerCall& call);

  // Sends batches ahead that now fit into the window. TakeMatch does not do
  // this itself, so that the requests of the claim, which are more urgent, can
  // be sent first.
  void SendWhatMayGo();

  // Drops every batch. Batches that are registered later are ignored.
  void Close();

  // The number of batches that wait for a claim.
  size_t depth() const;

 private:
  enum class Mode { kUnknown, kTraining, kReading };
  struct Entry;
  struct Batch;

  uint64_t StepOf(uint64_t number) const;
  bool Trains(const Entry& entry) const;
  bool IsLeftOut(const Entry& entry) const;
  bool IsClaimed(const Batch& batch) const;
  Batch* Find(const LayerCall& call, Entry** match);
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
  // All fields below are guarded by mutex_.
  Mode mode_ = Mode::kUnknown;
  uint64_t next_number_ = 0;
  std::deque<Batch> batches_;
  // For each batch in the window, by number: whether the batch's update is
  // queued. The map does not hold the batches' slots, because the last
  // reference to a slot must not be released while mutex_ is held.
  std::map<uint64_t, std::shared_ptr<const std::atomic<bool>>> window_;
  bool sending_ = false;  // SendAhead is running or scheduled.
  bool closed_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PREFETCH_STREAM_H_
