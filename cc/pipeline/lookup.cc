#include "cc/pipeline/lookup.h"

#include <algorithm>
#include <utility>

namespace persia {

TableIds LookupPlan::UniqueRows() const {
  TableIds rows;
  rows.table = table;
  rows.dim = dim;
  rows.ids = unique.ids;
  rows.shard_starts = unique.shard_starts;
  return rows;
}

std::vector<DoneCallback> Lookup::Complete(const Status& status,
                                           Span<const float> rows,
                                           std::shared_ptr<const void> owner) {
  std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
  rows_ = rows;
  owner_ = std::move(owner);
  completed_ = true;
  return std::exchange(waiters_, {});
}

bool Lookup::has_failed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !status_.ok();
}

void Lookup::WhenComplete(DoneCallback done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!completed_) {
      waiters_.push_back(std::move(done));
      return;
    }
  }
  done(status_);
}

void Lookup::CopyRows(Span<float> batch) {
  if (plan_->bags == nullptr) {
    ExpandRows(plan_->unique, rows_, plan_->dim, batch);
  } else if (plan_->sends_bags()) {
    std::copy(rows_.begin(), rows_.end(), batch.begin());
  } else {
    plan_->bags->shares().Pool(plan_->unique.inverse, rows_, batch);
  }
  copied_ = true;
}

}  // namespace persia
