// Lookup: one layer's request for the rows of its unique ids, or for the
// vectors of its bags, and the outcome.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_H_
#define PERSIA_CC_PIPELINE_LOOKUP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/base/strided_span.h"
#include "cc/pipeline/batch_slot.h"
#include "cc/pipeline/lookup_bags.h"
#include "cc/service/embedding_service.h"

namespace persia {

// What a lookup requests. The lookup's gradients, which are staged later, are
// for the same ids.
struct LookupPlan {
  std::string layer;
  int replica = 0;
  TableKey table = 0;
  uint32_t dim = 0;
  AbsentRows absent = AbsentRows::kDefault;  // Not used in training.
  UniqueIds unique;
  // If null, there is one vector per id.
  std::unique_ptr<const LookupBags> bags;
  std::atomic<uint64_t> generation{0};  // Set when the rows arrive.
  std::shared_ptr<BatchSlot> slot;      // Null if the batch is not prefetched.

  // The number of vectors that the layer receives and has gradients for.
  size_t vectors() const {
    return bags == nullptr ? unique.inverse.size() : bags->count();
  }

  // Whether the bags are sent to the service, which then pools them.
  bool sends_bags() const {
    return bags != nullptr &&
           bags->pooled_by() == LookupBags::PooledBy::kService;
  }

  // Whether the vectors may be copied in parts: see Lookup::CopyRows.
  bool splits() const { return bags == nullptr || sends_bags(); }

  // Returns the unique ids, without bags, as a view of this plan.
  TableIds UniqueRows() const;

  // Returns the ids or bags that are sent to the service, as a view of this
  // plan.
  TableIds Sent() const { return sends_bags() ? bags->ids() : UniqueRows(); }

  // The highest staleness that the batch may have: the limit of its stream if
  // the batch is prefetched, otherwise `unless_prefetched`.
  int staleness(int unless_prefetched) const {
    return slot == nullptr ? unless_prefetched : slot->staleness();
  }
};

// A Lookup is thread-safe.
class Lookup {
 public:
  explicit Lookup(std::shared_ptr<LookupPlan> plan) : plan_(std::move(plan)) {}

  const std::shared_ptr<LookupPlan>& plan() const { return plan_; }

  // Sets the outcome; must be called only once. `rows` are the rows or vectors
  // that the plan requested, and `owner` keeps them alive. Returns the waiting
  // callbacks, which the caller must call with the outcome.
  std::vector<DoneCallback> Complete(const Status& status,
                                     Span<const float> rows,
                                     std::shared_ptr<const void> owner);

  // Whether the lookup has completed with an error.
  bool has_failed() const;

  // Calls `done` with the outcome: at once if the lookup has completed,
  // otherwise when it completes.
  void WhenComplete(DoneCallback done);

  // Fills `batch`, vectors() vectors of dim floats. Without bags, copies each
  // id's row to the id's positions in the batch. With bags, pools the rows,
  // unless the service has pooled them. Precondition: the lookup has completed
  // without an error.
  void CopyRows(StridedSpan<float> batch) {
    CopyRows(batch, 0, plan_->vectors());
  }

  // Fills the vectors `begin` to `end` - 1 of `batch` only: all of them unless
  // the plan splits(). Several threads may call it for different vectors.
  void CopyRows(StridedSpan<float> batch, size_t begin, size_t end);

  // Whether CopyRows has been called.
  bool copied() const { return copied_; }

 private:
  void Pool(Span<float> vectors) const;

  const std::shared_ptr<LookupPlan> plan_;

  mutable std::mutex mutex_;
  std::vector<DoneCallback> waiters_;  // Guarded by mutex_.
  bool completed_ = false;             // Guarded by mutex_.
  // status_, rows_ and owner_ are set once, before completed_.
  Status status_;
  Span<const float> rows_;
  std::shared_ptr<const void> owner_;
  std::atomic<bool> copied_{false};
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_H_
