// The rows of a table as they were at one moment: see FrozenRows.

#ifndef PERSIA_CC_STORE_FROZEN_TABLE_H_
#define PERSIA_CC_STORE_FROZEN_TABLE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/store/sub_shard.h"
#include "cc/store/table.h"

namespace persia {

class FrozenTable : public FrozenRows {
 public:
  // `sub_shards` are the sub-shards of `table`. The destructor sets `*is_read`
  // to false, unless `is_read` is null.
  FrozenTable(std::shared_ptr<const Table> table, SaveScope scope,
              SubShards* sub_shards, std::atomic<bool>* is_read)
      : table_(std::move(table)), sub_shards_(*sub_shards), is_read_(is_read) {
    try {
      parts_.reserve(sub_shards_.size());
      for (const auto& sub_shard : sub_shards_) {
        parts_.push_back(sub_shard->Freeze(scope));
        about_ += sub_shard->RowsToSave(scope);
      }
    } catch (...) {
      End();
      throw;
    }
  }

  ~FrozenTable() override { End(); }

  Result<bool> Read(size_t count, RawRows* rows) override {
    const size_t end = rows->ids.size() + count;
    while (next_ < sub_shards_.size() && rows->ids.size() < end) {
      const size_t least = std::min(end - rows->ids.size(), kMostRowsALock);
      auto more = sub_shards_[next_]->ReadFrozen(least, parts_[next_], rows);
      if (!more.ok()) return more.status();
      if (!*more) ++next_;
    }
    return next_ < sub_shards_.size();
  }

  bool ReadErased(std::vector<int64_t>* ids) override {
    if (next_erased_ == sub_shards_.size()) return false;
    sub_shards_[next_erased_++]->ReadErased(ids);
    return true;
  }

  uint64_t about() const override { return about_; }

 private:
  void End() {
    for (size_t s = 0; s < parts_.size(); ++s) sub_shards_[s]->Thaw(parts_[s]);
    if (is_read_ != nullptr) *is_read_ = false;
  }

  const std::shared_ptr<const Table> table_;
  SubShards& sub_shards_;
  std::atomic<bool>* const is_read_;
  std::vector<FrozenPart*> parts_;  // One per sub-shard.
  uint64_t about_ = 0;
  size_t next_ = 0;
  size_t next_erased_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_FROZEN_TABLE_H_
