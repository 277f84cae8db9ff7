// LayerLookup: one layer's lookup: of the rows of its unique ids, or of the
// vectors of its bags.

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

// What a lookup asks for. Its gradients are for the same ids.
struct LookupRecord {
  std::string layer;
  int replica = 0;
  TableKey table = 0;
  uint32_t dim = 0;
  AbsentRows absent = AbsentRows::kDefault;  // Not used in training.
  UniqueIds unique;
  std::unique_ptr<const LookupBags> bags;  // Null: one vector per id.
  std::atomic<uint64_t> generation{0};     // Set when the rows arrive.
  std::shared_ptr<BatchSlot> slot;         // Null without prefetching.

  // The number of vectors that the layer receives and has gradients for.
  size_t vectors() const {
    return bags == nullptr ? unique.inverse.size() : bags->count();
  }

  // Whether the bags go to the service, which pools them.
  bool sends_bags() const {
    return bags != nullptr &&
           bags->pooled_by() == LookupBags::PooledBy::kService;
  }

  // The unique ids, without bags; a view of this record.
  TableIds UniqueRows() const;

  // What the service is asked for; a view of this record.
  TableIds Asked() const { return sends_bags() ? bags->ids() : UniqueRows(); }

  // The highest staleness that the batch may have: `unless_prefetched`, or the
  // stream's.
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

  // Sets the outcome; call it only once. `rows` are what the record asks for,
  // kept alive by `owner`. Returns the waiting callbacks, which the caller must
  // call with the outcome.
  std::vector<DoneCallback> Complete(const Status& status,
                                     Span<const float> rows,
                                     std::shared_ptr<const void> owner);

  // Whether there is an outcome, and it is an error.
  bool has_failed() const;

  // Calls `done` with the outcome: now, or once there is one.
  void WhenComplete(DoneCallback done);

  // Fills `batch`, vectors() x dim: copies each id's row to the id's positions
  // in the batch, or pools the rows, unless the service has done so.
  // Precondition: completed, without an error.
  void CopyRows(Span<float> batch);

  // Whether CopyRows has been called.
  bool copied() const { return copied_; }

 private:
  const std::shared_ptr<LookupRecord> record_;

  mutable std::mutex mutex_;
  std::vector<DoneCallback> waiters_;  // Guarded by mutex_.
  bool completed_ = false;             // Guarded by mutex_.
  // All below: set once, before completed_.
  Status status_;
  Span<const float> rows_;
  std::shared_ptr<const void> owner_;
  std::atomic<bool> copied_{false};
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LAYER_LOOKUP_H_
