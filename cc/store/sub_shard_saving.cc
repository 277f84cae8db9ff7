// The functions of SubShard for snapshots and saves.

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/store/slices.h"
#include "cc/store/sub_shard.h"

namespace persia {

FrozenPart* SubShard::Freeze(SaveScope scope) {
  std::unique_ptr<FrozenPart> part(
      new FrozenPart{KeptRows(&index_, rules_.row_bytes, meter_), scope});
  std::lock_guard<SpinMutex> lock(mutex_);
  frozen_.push_back(std::move(part));
  return frozen_.back().get();
}

Result<bool> SubShard::ReadFrozen(size_t least, FrozenPart* part,
                                  RawRows* rows) {
  KeptRows* const kept = &part->kept;
  std::lock_guard<SpinMutex> lock(mutex_);
  if (kept->failed()) {
    return Status(Code::kResourceExhausted,
                  "no memory for copies of rows that changed while the table "
                  "was read, so not all of its rows were read");
  }
  const auto append = [&](int64_t id, const std::byte* row) {
    AppendRow(id, row, rows);
  };
  // The copies are read before other rows: otherwise they might accumulate as
  // fast as the reader progresses.
  const bool had_kept = kept->TakeSome(append);
  if (kept->ended()) return had_kept;
  // Rows are scattered in memory: all are prefetched before one is read.
  thread_local std::vector<std::pair<int64_t, RowIndex::Row>> found;
  found.clear();
  const uint64_t next =
      index_.Walk(kept->next(), least, [&](int64_t id, RowIndex::Row row) {
        if (!Has(*part, row) || kept->Has(row)) return;
        PrefetchStart<For::kRead>(slab_.at(row), rules_.row_bytes);
        found.emplace_back(id, row);
      });
  for (const auto& [id, row] : found) append(id, slab_.at(row));
  kept->ReadTo(next);
  return true;
}

void SubShard::Thaw(FrozenPart* part) {
  // `ended` is freed after the lock is released, since a FrozenPart may be
  // large.
  std::unique_ptr<FrozenPart> ended;
  std::lock_guard<SpinMutex> lock(mutex_);
  const auto at =
      std::find_if(frozen_.begin(), frozen_.end(),
                   [&](const auto& each) { return each.get() == part; });
  ended = std::move(*at);
  frozen_.erase(at);
}

void SubShard::BeginSave() {
  // `ended` is freed after the lock is released, since a ChangedRows may be
  // large.
  std::optional<ChangedRows> ended;
  std::lock_guard<SpinMutex> lock(mutex_);
  // The changes in saved_ were not committed, so the new save contains them
  // too.
  if (saved_) changes_->Merge(*saved_, index_);
  ended.swap(saved_);
  saved_.swap(changes_);
  changes_.emplace(meter_);
}

void SubShard::CommitSave() {
  std::optional<ChangedRows> ended;
  std::lock_guard<SpinMutex> lock(mutex_);
  ended.swap(saved_);
}

bool SubShard::lost_changes() const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return (changes_ && changes_->lost()) || (saved_ && saved_->lost());
}

void SubShard::ReadErased(std::vector<int64_t>* ids) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  if (saved_) saved_->AppendErased(ids);
}

size_t SubShard::RowsToSave(SaveScope scope) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return scope == SaveScope::kWhole ? index_.size() : saved_->rows();
}

void SubShard::AppendRow(int64_t id, const std::byte* row,
                         RawRows* rows) const {
  rows->ids.push_back(id);
  rows->bytes.insert(rows->bytes.end(), row, row + rules_.row_bytes);
}

}  // namespace persia
