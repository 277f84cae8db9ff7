#include "cc/shard/table_changer.h"

#include <memory>
#include <string>
#include <utility>

#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"
#include "cc/checkpoint/optimizer_change.h"
#include "cc/optimizer/undecided.h"
#include "cc/writing/journal_records.h"

namespace persia {
namespace {

constexpr EventKind kOptimizers{"changes of a table's optimizer",
                                EventLevel::kInfo, 60};
constexpr EventKind kTablesDropped{"tables dropped or cleared",
                                   EventLevel::kInfo, 60};

// The drop of a table that no program asks for.
Result<DropTableRequest> OwnDrop(const TableConfig& config) {
  const auto drawn = RandomNonZero();
  if (!drawn.ok()) return drawn.status();
  DropTableRequest drop;
  drop.table = HashName(config.name);
  drop.drop_id = *drawn;
  return drop;
}

}  // namespace

bool TableChanger::ChangesOptimizer(const CreateTableRequest& request) const {
  const Result<Table*> held =
      subject_.store->Find(HashName(request.config.name));
  if (!held.ok() || !request.config.Validate().ok()) return false;
  const Spec& optimizer = (*held)->config().optimizer;
  TableConfig like_held = request.config;
  like_held.optimizer = optimizer;
  return !IsUndecided(request.config.optimizer) &&
         !(request.config.optimizer == optimizer) &&
         (IsUndecided(optimizer) || request.replaces_optimizer) &&
         CheckSameTable((*held)->config(), like_held).ok();
}

Status TableChanger::ChangeOptimizer(const CreateTableRequest& request) {
  return subject_.checkpoints->TakeAway(
      [&](bool* taken) { return ReplaceOptimizer(request, taken); });
}

Status TableChanger::ReplaceOptimizer(const CreateTableRequest& request,
                                      bool* taken) {
  // Another request may have changed the optimizer while this one waited for
  // its thread.
  if (!ChangesOptimizer(request)) return Status();
  const TableKey key = HashName(request.config.name);
  Table* const held = *subject_.store->Find(key);
  auto changed =
      WithOptimizer(held, request.config.optimizer, subject_.store->meter());
  if (!changed.ok()) return changed.status();
  (*changed)->SetIdentity(held->identity());
  // Unused: the reply waits for the Table record, which follows the record of
  // the time.
  uint64_t log_end = 0;
  subject_.writer->TellTime(held, &log_end);
  PERSIA_RETURN_IF_ERROR(subject_.maker->LogChanged(**changed));
  const Spec& before = held->config().optimizer;
  TellEvent(subject_.events, kOptimizers, "table \"", request.config.name,
            "\" now has the optimizer ", request.config.optimizer.ToString(),
            IsUndecided(before)
                ? std::string()
                : Concat(", and no longer ", before.ToString()));
  *taken = true;
  subject_.followers->ForgetAll();
  Store::Tables tables;
  tables[key] = std::move(*changed);
  subject_.store->Replace(&tables);
  return Status();
}

Status TableChanger::Drop(const DropTableRequest& request) {
  if (request.drop_id == 0) {
    return InvalidArgument("drop_id must be a random number, received 0");
  }
  // Declared here so that the table is freed only after TakeAway has let other
  // calls run again: freeing a large table takes long.
  std::shared_ptr<Table> dropped;
  uint64_t log_end = 0;
  PERSIA_RETURN_IF_ERROR(subject_.checkpoints->TakeAway([&](bool* taken) {
    const auto table =
        subject_.store->Drop(request.table, request.drop_id, request.stays);
    if (!table.ok()) return table.status();
    dropped = *table;
    if (dropped == nullptr) return Status();
    *taken = true;
    subject_.followers->LetGo(request.table);
    return LogDrop(request, &log_end);
  }));
  if (dropped != nullptr) {
    TellEvent(subject_.events, kTablesDropped,
              request.stays ? "cleared" : "dropped", " table \"",
              dropped->config().name, "\" with its ", dropped->Stats().rows,
              " rows");
  }
  return log_end == 0 ? Status()
                      : subject_.journal->BlockUntilAcknowledged(log_end);
}

Status TableChanger::DropStale(const TableConfig& config) {
  const auto held = subject_.store->Share(HashName(config.name));
  if (!held.ok() || !(*held)->identity().is_complete) return Status();
  const auto drop = OwnDrop(config);
  return drop.ok() ? Drop(*drop) : drop.status();
}

Status TableChanger::ReplaceStale(const TableConfig& config,
                                  const TableIdentity& identity) {
  std::shared_ptr<Table> replaced;  // Freed after TakeAway, as in Drop.
  return subject_.checkpoints->TakeAway([&](bool* taken) {
    const auto held = subject_.store->Share(HashName(config.name));
    if (!held.ok()) return Status();
    const TableIdentity& own = (*held)->identity();
    // A program that creates the table has not completed it everywhere yet.
    const bool is_in_creation =
        own.number == identity.number && !identity.is_complete;
    if (own == identity || is_in_creation) return Status();
    replaced = *held;
    return Replace(config, identity, taken);
  });
}

Status TableChanger::Replace(const TableConfig& config,
                             const TableIdentity& identity, bool* taken) {
  if (subject_.ownership->owned_slots().any()) {
    return Status(Code::kFailedPrecondition,
                  Concat("this shard has another table \"", config.name,
                         "\" than the slots' owner: restore a checkpoint on "
                         "all shards, or drop the table on all"));
  }
  PERSIA_RETURN_IF_ERROR(config.Validate());
  auto made = MakeTable(config, nullptr, subject_.store->meter(),
                        subject_.store->share());
  if (!made.ok()) return made.status();
  (*made)->SetIdentity(identity);
  const auto drop = OwnDrop(config);
  if (!drop.ok()) return drop.status();
  uint64_t log_end = 0;  // Unused: nothing is acknowledged.
  PERSIA_RETURN_IF_ERROR(LogDrop(*drop, &log_end));
  const Status logged = subject_.maker->LogChanged(**made);
  if (!logged.ok()) {
    subject_.journal->Break(logged);
    return logged;
  }
  *taken = true;
  subject_.followers->ForgetAll();
  Store::Tables tables;
  tables[drop->table] = std::move(*made);
  subject_.store->Replace(&tables);
  return Status();
}

// In memory, the table is dropped already, or will be in any case. If the log
// cannot record the drop, the log no longer matches the memory, so it is broken
// and accepts no more records.
Status TableChanger::LogDrop(const DropTableRequest& request,
                             uint64_t* log_end) {
  if (subject_.journal == nullptr) return Status();
  const auto position = Append(RecordBody::Drop(request), subject_.journal);
  if (!position.ok()) {
    subject_.journal->Break(position.status());
    return position.status();
  }
  *log_end = *position + 1;
  return Status();
}

}  // namespace persia
