#include "cc/pipeline/layer_lookup.h"

#include <algorithm>
#include <utility>

namespace persia {

TableIds LookupRecord::UniqueRows() const {
  TableIds rows;
  rows.table = table;
  rows.dim = dim;
  rows.ids = unique.ids;
  return rows;
}

std::vector<DoneCallback> LayerLookup::Complete(
    const Status& status, Span<const float> rows,
    std::shared_ptr<const void> owner) {
  std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
  rows_ = rows;
  owner_ = std::move(owner);
  completed_ = true;
  return std::exchange(waiters_, {});
}

bool LayerLookup::has_failed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !status_.ok();
}

void LayerLookup::WhenComplete(DoneCallback done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!completed_) {
      waiters_.push_back(std::move(done));
      return;
    }
  }
  done(status_);
}

void LayerLookup::CopyRows(Span<float> batch) {
  if (record_->bags == nullptr) {
    ExpandRows(record_->unique, rows_, record_->dim, batch);
  } else if (record_->sends_bags()) {
    std::copy(rows_.begin(), rows_.end(), batch.begin());
  } else {
    record_->bags->shares().Pool(record_->unique.inverse, rows_, batch);
  }
  copied_ = true;
}

}  // namespace persia
