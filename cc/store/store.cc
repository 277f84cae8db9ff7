#include "cc/store/store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "cc/base/hash.h"
#include "cc/store/missing_table.h"

namespace persia {
namespace {

// Approximate memory of a table without rows.
constexpr uint64_t kEmptyTableBytes = uint64_t{60} << 10;

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

void Store::SetShare(uint32_t slots) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  share_ = slots;
  for (const auto& [key, table] : tables_) table->SetShare(slots);
}

Result<uint64_t> Store::CreateTable(const TableConfig& config) {
  PERSIA_RETURN_IF_ERROR(config.Validate());
  const TableKey key = HashName(config.name);
  if (const Result<Table*> held = Find(key); held.ok()) {
    return Attach(**held, config);
  }
  PERSIA_RETURN_IF_ERROR(CheckMemory(config));
  // The table is created outside the lock: this may take long, and meanwhile
  // other threads need their tables.
  auto made = MakeTable(config, nullptr, meter_, share());
  if (!made.ok()) return made.status();
  std::shared_ptr<const Table> table;
  {
    std::lock_guard<std::shared_mutex> lock(mutex_);
    // If another thread has created the table meanwhile, the limit of tables
    // already includes it.
    if (tables_.count(key) == 0) PERSIA_RETURN_IF_ERROR(CheckCount(config));
    (*made)->SetShare(share());  // It may have changed meanwhile.
    table = tables_.emplace(key, std::move(*made)).first->second;
    dropped_.erase(key);
    ++version_;
  }
  return Attach(*table, config);
}

Status Store::CheckRoomFor(const TableConfig& config) const {
  PERSIA_RETURN_IF_ERROR(CheckMemory(config));
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return CheckCount(config);
}

Status Store::CheckCount(const TableConfig& config) const {
  if (most_tables_ == 0 || tables_.size() < most_tables_) return Status();
  return Status(
      Code::kResourceExhausted,
      Concat("table \"", config.name, "\" would exceed the limit of ",
             most_tables_, " tables on this shard: raise --max-tables"));
}

// The store checks the limit itself, since MakeTable may exceed it: an empty
// table can replace another table even while the limit is reached.
Status Store::CheckMemory(const TableConfig& config) const {
  const uint64_t used = meter_->used();
  if (used + kEmptyTableBytes <= meter_->limit()) return Status();
  return Status(
      Code::kResourceExhausted,
      Concat("table \"", config.name, "\": the memory limit of ",
             meter_->limit(), " bytes leaves no room for another table, since ",
             used, " are in use: raise --memory-limit, or drop tables"));
}

Result<Table*> Store::Find(TableKey key) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second.get();
  return Absence(key);
}

Result<std::shared_ptr<Table>> Store::Share(TableKey key) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;
  return Absence(key);
}

Status Store::Absence(TableKey key) const {
  const auto dropped = dropped_.find(key);
  if (dropped != dropped_.end()) {
    return Status(Code::kNotFound,
                  Concat("table \"", dropped->second.name,
                         "\" was dropped. Build the model again: this creates "
                         "the table again, without rows"));
  }
  return MissingTable(key);
}

std::vector<Table*> Store::All() const {
  std::vector<Table*> tables;
  for (const auto& table : ShareAll()) tables.push_back(table.get());
  return tables;
}

std::vector<std::shared_ptr<Table>> Store::ShareAll() const {
  std::vector<std::shared_ptr<Table>> tables;
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& [key, table] : tables_) tables.push_back(table);
  }
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
    return a->config().name < b->config().name;
  });
  return tables;
}

void Store::Replace(Tables* tables) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  for (auto& [key, table] : *tables) {
    table->SetShare(share());
    tables_[key].swap(table);
    dropped_.erase(key);
  }
  ++version_;
}

Result<std::shared_ptr<Table>> Store::Drop(TableKey key, uint64_t drop_id,
                                           bool stays) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  const bool was_there =
      std::find(drop_ids_.begin(), drop_ids_.end(), drop_id) != drop_ids_.end();
  if (was_there) return std::shared_ptr<Table>();
  const auto found = tables_.find(key);
  std::shared_ptr<Table> table;
  if (found != tables_.end()) {
    table = found->second;
    if (stays) {
      auto made = MakeTable(table->config(), nullptr, meter_, share());
      if (!made.ok()) return made.status();
      (*made)->SetIdentity(table->identity());
      found->second = std::move(*made);
    } else {
      Remember(key, table->config());
      tables_.erase(found);
    }
    ++version_;
  }
  if (drop_ids_.size() == kRemembered) drop_ids_.pop_front();
  drop_ids_.push_back(drop_id);
  return table;
}

void Store::Remember(TableKey key, const TableConfig& config) {
  if (dropped_.size() == kRemembered) dropped_.erase(dropped_.begin());
  dropped_[key] = config;
}

std::vector<TableConfig> Store::Dropped() const {
  std::vector<TableConfig> dropped;
  std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto& [key, config] : dropped_) dropped.push_back(config);
  return dropped;
}

std::vector<TableStats> Store::Stats() const {
  std::vector<TableStats> stats;
  for (const auto& table : ShareAll()) stats.push_back(table->Stats());
  return stats;
}

}  // namespace persia
