#include "cc/pipeline/lookup.h"

#include <utility>
#include <vector>

namespace persia {

TableIds LookupPlan::UniqueRows() const {
  TableIds rows;
  rows.table = table;
  rows.dim = dim;
  rows.ids = unique.ids;
  rows.shard_starts = unique.shard_starts;
  rows.starts_of = unique.starts_of;
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

void Lookup::CopyRows(StridedSpan<float> batch, size_t begin, size_t end) {
  const size_t dim = plan_->dim;
  if (plan_->bags == nullptr) {
    const Span<const uint32_t> inverse = plan_->unique.inverse;
    ExpandRows(inverse.subspan(begin, end - begin), rows_, dim,
               batch.Part(begin, end, dim));
  } else if (plan_->sends_bags()) {
    CopyVectors(rows_.subspan(begin * dim, (end - begin) * dim), dim,
                batch.Part(begin, end, dim));
  } else if (batch.IsContiguous(dim)) {
    Pool(batch.values());
  } else {
    std::vector<float> pooled(plan_->vectors() * dim);
    Pool(pooled);
    CopyVectors(pooled, dim, batch);
  }
  copied_ = true;
}

void Lookup::Pool(Span<float> vectors) const {
  plan_->bags->shares().Pool(plan_->unique.inverse, rows_, vectors);
}

}  // namespace persia
