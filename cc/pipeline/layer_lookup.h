// LayerLookup: one layer's lookup, from its unique ids to the rows they stand
// for, or from its bags to their vectors.

#ifndef PERSIA_CC_PIPELINE_LAYER_LOOKUP_H_
#define PERSIA_CC_PIPELINE_LAYER_LOOKUP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/pipeline/batch_slot.h"
#include "cc/pipeline/lookup_bags.h"
#include "cc/service/embedding_service.h"

namespace persia {

// What a lookup asked for; its gradients are for the same ids.
struct LookupRecord {
  std::string layer;
  int replica = 0;
  TableKey table = 0;
  uint32_t dim = 0;
  AbsentRows absent = AbsentRows::kDefault;  // Unless it is for training.
  UniqueIds unique;
  std::unique_ptr<const LookupBags> bags;  // Null: one vector an id.
  std::atomic<uint64_t> generation{0};     // Known when the rows have come.
  std::shared_ptr<BatchSlot> slot;         // Null without prefetching.

  // What the layer gets and brings gradients for.
  size_t vectors() const {
    return bags == nullptr ? unique.inverse.size() : bags->count();
  }

  // Whether bags go to the service as they are.
  bool sends_bags() const {
    return bags != nullptr &&
           bags->pooled_by() == LookupBags::PooledBy::kService;
  }

  // The unique ids of the table; a view of this record.
  TableIds UniqueRows() const;

  // What the service is asked for: views of this record.
  TableIds Asked() const { return sends_bags() ? bags->ids() : UniqueRows(); }

  // The staleness that the batch may have.
  int staleness(int unless_prefetched) const {
    return slot == nullptr ? unless_prefetched : slot->staleness();
  }
};

// Thread-safe.
class LayerLookup {
 public:
  explicit LayerLookup(std::shared_ptr<LookupRecord> record)
      : record_(std::move(record)) {}

  const std::shared_ptr<LookupRecord>& record() const { return record_; }

  // The outcome; once. `rows` are what the record asks for, kept alive by
  // `owner`. Returns those who wait, to be called with the outcome.
  std::vector<DoneCallback> Complete(const Status& status,
                                     Span<const float> rows,
                                     std::shared_ptr<const void> owner);

  // Whether there is an outcome, and it is an error.
  bool has_failed() const;

  // Calls `done` with the outcome: now, or once there is one.
  void WhenComplete(DoneCallback done);

  // Spreads the rows over the batch that the ids came from, or pools them, if
  // the service has not: fills vectors() x dim. Precondition: completed,
  // without an error.
  void CopyRows(Span<float> batch);

  // Whether somebody has copied the rows.
  bool copied() const { return copied_; }

 private:
  const std::shared_ptr<LookupRecord> record_;

  mutable std::mutex mutex_;
  std::vector<DoneCallback> waiters_;  // Guarded by mutex_.
  bool completed_ = false;             // Guarded by mutex_.
  // Set once, before completed_.
  Status status_;
  Span<const float> rows_;
  std::shared_ptr<const void> owner_;
  std::atomic<bool> copied_{false};
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LAYER_LOOKUP_H_
