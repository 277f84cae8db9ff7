#include "cc/saving/frozen_store.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace persia {
namespace {

class PacedRows : public FrozenRows {
 public:
  PacedRows(std::unique_ptr<FrozenRows> rows, Pace* pace)
      : rows_(std::move(rows)), pace_(*pace) {}

  Result<bool> Read(size_t count, RawRows* rows) override {
    pace_.Rest();
    return rows_->Read(count, rows);
  }

  bool ReadErased(std::vector<int64_t>* ids) override {
    return rows_->ReadErased(ids);
  }

  uint64_t about() const override { return rows_->about(); }

 private:
  const std::unique_ptr<FrozenRows> rows_;
  Pace& pace_;
};

// The rows and erased ids of some slots. A table may have those of others too,
// while slots move from shard to shard.
class RowsOfSlots : public FrozenRows {
 public:
  RowsOfSlots(std::unique_ptr<FrozenRows> rows, const SlotSet& slots,
              size_t row_bytes)
      : rows_(std::move(rows)), slots_(slots), row_bytes_(row_bytes) {}

  Result<bool> Read(size_t count, RawRows* rows) override {
    size_t kept = rows->ids.size();
    const auto more = rows_->Read(count, rows);
    if (!more.ok()) return more;
    std::byte* const bytes = rows->bytes.data();
    for (size_t i = kept; i < rows->ids.size(); ++i) {
      if (!slots_[SlotOf(rows->ids[i])]) continue;
      if (kept < i) {
        rows->ids[kept] = rows->ids[i];
        std::memcpy(bytes + kept * row_bytes_, bytes + i * row_bytes_,
                    row_bytes_);
      }
      ++kept;
    }
    rows->ids.resize(kept);
    rows->bytes.resize(kept * row_bytes_);
    return more;
  }

  bool ReadErased(std::vector<int64_t>* ids) override {
    const auto before = static_cast<ptrdiff_t>(ids->size());
    const bool more = rows_->ReadErased(ids);
    ids->erase(std::remove_if(ids->begin() + before, ids->end(),
                              [&](int64_t id) { return !slots_[SlotOf(id)]; }),
               ids->end());
    return more;
  }

  uint64_t about() const override { return rows_->about(); }

 private:
  const std::unique_ptr<FrozenRows> rows_;
  const SlotSet slots_;
  const size_t row_bytes_;
};

Status Add(const Table& table, SaveScope scope,
           Result<std::unique_ptr<FrozenRows>> rows, FrozenStore* frozen) {
  if (!rows.ok()) return rows.status();
  frozen->row_count += (*rows)->about();
  frozen->rows.push_back(
      std::make_unique<PacedRows>(std::move(*rows), &frozen->pace));
  frozen->tables.push_back(
      {{table.config(), table.layout(), table.time(), scope},
       frozen->rows.back().get()});
  return Status();
}

}  // namespace

Status Freeze(const Store& store, const SlotWindows& window,
              FrozenStore* frozen) {
  for (Table* const table : store.All()) {
    PERSIA_RETURN_IF_ERROR(
        Add(*table, SaveScope::kWhole, table->Freeze(), frozen));
  }
  frozen->clients = window.Export();
  return Status();
}

Status FreezeToSave(const Store& store, const SlotWindows& window,
                    const SlotSet& slots, bool is_whole, FrozenStore* frozen) {
  for (Table* const table : store.All()) {
    const SaveScope scope = is_whole || !table->was_saved()
                                ? SaveScope::kWhole
                                : SaveScope::kChanges;
    auto rows = table->FreezeToSave(scope);
    if (rows.ok() && !slots.all()) {
      rows = {std::make_unique<RowsOfSlots>(std::move(*rows), slots,
                                            table->layout().row_bytes)};
    }
    PERSIA_RETURN_IF_ERROR(Add(*table, scope, std::move(rows), frozen));
  }
  frozen->clients = window.Export();
  return Status();
}

}  // namespace persia
