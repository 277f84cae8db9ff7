#include "cc/store/store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "cc/base/hash.h"

namespace persia {
namespace {

Result<uint64_t> Attach(const Table& held, const TableConfig& asked) {
  PERSIA_RETURN_IF_ERROR(CheckSameTable(held.config(), asked));
  return held.Stats().rows;
}

}  // namespace

Store::Store() : meter_(std::make_shared<MemoryMeter>()) {}

void Store::SetLimits(const StoreLimits& limits) {
  most_tables_ = limits.tables;
  meter_->set_limit(limits.memory_bytes == 0 ? MemoryMeter::kUnlimited
                                             : limits.memory_bytes);
}

Result<uint64_t> Store::CreateTable(const TableConfig& config) {
  PERSIA_RETURN_IF_ERROR(config.Validate());
  const TableKey key = HashName(config.name);
  if (const Result<Table*> held = Find(key); held.ok()) {
    return Attach(**held, config);
  }
  // Outside the lock: to make a table may take long, and others need theirs.
  auto made = MakeTable(config, nullptr, meter_);
  if (!made.ok()) return made.status();
  const Table* table = nullptr;
  {
    std::lock_guard<std::shared_mutex> lock(mutex_);
    // Somebody may have been faster.
    if (tables_.count(key) == 0) PERSIA_RETURN_IF_ERROR(CheckCount(config));
    table = tables_.emplace(key, std::move(*made)).first->second.get();
  }
  return Attach(*table, config);
}

Status Store::CheckRoomFor(const TableConfig& config) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return CheckCount(config);
}

Status Store::CheckCount(const TableConfig& config) const {
  if (most_tables_ == 0 || tables_.size() < most_tables_) return Status();
  return Status(
      Code::kResourceExhausted,
      Concat("table \"", config.name, "\" would be one more than the ",
             most_tables_, " that this shard may have: raise --max-tables"));
}

Result<Table*> Store::Find(TableKey key) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second.get();
  return Status(Code::kNotFound,
                Concat("no table has key ", key,
                       " here; create it first, and again after a restart of "
                       "the process that holds it"));
}

std::vector<Table*> Store::All() const {
  std::vector<Table*> tables;
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& [key, table] : tables_) tables.push_back(table.get());
  }
  std::sort(tables.begin(), tables.end(), [](const Table* a, const Table* b) {
    return a->config().name < b->config().name;
  });
  return tables;
}

void Store::Replace(Tables* tables) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  for (auto& [key, table] : *tables) tables_[key].swap(table);
}

std::vector<TableStats> Store::Stats() const {
  std::vector<TableStats> stats;
  for (const Table* table : All()) stats.push_back(table->Stats());
  return stats;
}

}  // namespace persia
