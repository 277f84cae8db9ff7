#include "cc/saving/frozen_store.h"

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

Status Freeze(const Store& store, const UpdateWindow& window,
              FrozenStore* frozen) {
  for (Table* const table : store.All()) {
    PERSIA_RETURN_IF_ERROR(
        Add(*table, SaveScope::kWhole, table->Freeze(), frozen));
  }
  frozen->clients = window.Export();
  return Status();
}

Status FreezeToSave(const Store& store, const UpdateWindow& window,
                    bool is_whole, FrozenStore* frozen) {
  for (Table* const table : store.All()) {
    const SaveScope scope = is_whole || !table->was_saved()
                                ? SaveScope::kWhole
                                : SaveScope::kChanges;
    PERSIA_RETURN_IF_ERROR(
        Add(*table, scope, table->FreezeToSave(scope), frozen));
  }
  frozen->clients = window.Export();
  return Status();
}

}  // namespace persia
