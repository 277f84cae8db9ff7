#include "cc/shard/recovery.h"

#include <utility>

#include "cc/base/hash.h"
#include "cc/checkpoint/optimizer_change.h"
#include "cc/files/root_path.h"
#include "cc/log/log_format.h"
#include "cc/writing/table_calls.h"

namespace persia {
namespace {

constexpr EventKind kRecoveries{"recoveries", EventLevel::kInfo, 60};
constexpr EventKind kTornLogs{"logs with a part left out", EventLevel::kWarning,
                              60};

const char* NameOf(RecoveryLevel level) {
  return level == RecoveryLevel::kLog ? "log" : "checkpoint";
}

}  // namespace

Status Recovery::OnBase(Store::Tables tables,
                        const std::vector<ClientWindow>& clients) {
  found_ = true;
  subject_.slots.store->Replace(&tables);
  subject_.slots.windows->Import(clients);
  StopEvictions();
  return Status();
}

Status Recovery::OnRecord(const LogRecord& record) {
  last_crc_ = BodyCrc({&record.body, 1});
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::kOpened:
      return OnOpened(record);
    case RecordType::kTable:
      return OnTable(record);
    case RecordType::kChanges:
      return OnChanges(record);
    case RecordType::kUpdate:
      return OnUpdate(record);
    case RecordType::kAssign:
      return OnAssign(record);
    case RecordType::kRestore:
      return OnRestore(record);
    case RecordType::kCut:
      return OnCut(record);
    case RecordType::kDrop:
      return OnDrop(record);
    case RecordType::kUses:
      return OnUses(record);
    case RecordType::kTopology:
      return OnTopology(record);
    case RecordType::kPlaced:
      return OnPlaced(record);
    case RecordType::kCleared:
      return OnCleared(record);
    case RecordType::kApplied:
      return OnApplied(record);
  }
  return Status(Code::kDataLoss, Concat("record ", record.position,
                                        " has the unknown type ", record.type));
}

Status Recovery::TakePlace(const std::string& address) {
  Ownership* const ownership = subject_.slots.ownership;
  SharedTopology topology = replaced_by_;
  if (topology == nullptr) topology = ownership->topology();
  if (topology == nullptr) {
    return Status(Code::kFailedPrecondition,
                  "the shard belongs to no cluster yet, so nobody needs its "
                  "standby");
  }
  Member own = *topology->Find(ownership->member());
  if (replaced_by_ == nullptr) {
    own = TakenPlace(own, address);
    topology = std::make_shared<const Topology>(topology->WithMember(own));
  } else if (own.address != address) {
    return Status(Code::kFailedPrecondition,
                  Concat("another standby, at ", own.address,
                         ", has taken the shard's place"));
  }
  ownership->SetMember(own.id, own.incarnation);
  replaced_by_ = nullptr;
  Use(std::move(topology));
  return Status();
}

void Recovery::RemoveGivenAway() {
  Remove(given_away_ & ~subject_.slots.ownership->owned_slots());
  given_away_.reset();
}

Status Recovery::Finish() {
  if (replaced_by_ != nullptr) Use(std::exchange(replaced_by_, nullptr));
  RemoveGivenAway();
  if (checkpoint_.has_value()) {
    // Slots may have moved since the checkpoint, which has the rows of all.
    checkpoint_->shard.slots = subject_.slots.ownership->slots();
    PERSIA_RETURN_IF_ERROR(Load(*checkpoint_));
  }
  for (Table* table : subject_.slots.store->All()) {
    table->SetEvicts(true);
    table->SetIdentity(identities_[HashName(table->config().name)]);
  }
  return Status();
}

// Refuses a log that was written at another RecoveryLevel than this shard's: a
// log that only names checkpoints lacks the changes of rows.
Status Recovery::OnOpened(const LogRecord& record) {
  RecoveryLevel level;
  PERSIA_RETURN_IF_ERROR(ReadOpened(record, &level));
  if (level == level_) return Status();
  return Status(
      Code::kFailedPrecondition,
      Concat("the recovery folder was written with --recovery ", NameOf(level),
             ", but this shard has --recovery ", NameOf(level_),
             ": use --recovery ", NameOf(level), ", or another folder"));
}

Status Recovery::OnTable(const LogRecord& record) {
  found_ = true;
  TableConfig config;
  TableIdentity identity;
  PERSIA_RETURN_IF_ERROR(ReadTable(record, &config, &identity));
  identities_[HashName(config.name)] = identity;
  PERSIA_RETURN_IF_ERROR(ChangeOptimizer(config));
  const auto made = subject_.slots.store->CreateTable(config);
  if (!made.ok()) return made.status();
  StopEvictions();
  return Status();
}

// Gives an existing table the optimizer of a later Table record, if that
// differs.
Status Recovery::ChangeOptimizer(const TableConfig& config) {
  const Result<Table*> held = subject_.slots.store->Find(HashName(config.name));
  if (!held.ok() || (*held)->config().optimizer == config.optimizer) {
    return Status();
  }
  auto changed =
      WithOptimizer(*held, config.optimizer, subject_.slots.store->meter());
  if (!changed.ok()) return changed.status();
  Store::Tables tables;
  tables[HashName(config.name)] = std::move(*changed);
  subject_.slots.store->Replace(&tables);
  return Status();
}

Status Recovery::OnChanges(const LogRecord& record) {
  TableKey key;
  PERSIA_RETURN_IF_ERROR(ReadChanges(record, &key, &changes_));
  const Result<Table*> table = subject_.slots.store->Find(key);
  if (!table.ok()) return table.status();
  std::vector<int64_t> ids;
  for (size_t begin = 0; begin < changes_.size();) {
    const bool created = changes_[begin].created;
    ids.clear();
    for (; begin < changes_.size() && changes_[begin].created == created;
         ++begin) {
      ids.push_back(changes_[begin].id);
    }
    if (created) {
      (*table)->Create(ids);
    } else {
      (*table)->Remove(ids);
    }
  }
  return Status();
}

Status Recovery::OnUpdate(const LogRecord& record) {
  PERSIA_RETURN_IF_ERROR(ReadUpdate(record, &update_));
  for (const TableUpdate& update : update_.tables) {
    const Result<Table*> table = subject_.slots.store->Find(update.ids.table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIds(update.ids, (*table)->config(), "gradients",
                                    update.gradients.size()));
    Apply(*table, update);
  }
  if (update_.client == 0) return Status();
  SlotWindows* const windows = subject_.slots.windows;
  const auto begun = windows->Begin(update_.client, update_.sequence);
  windows->Finish(update_.client, update_.sequence, begun, /*applied=*/true);
  return Status();
}

Status Recovery::OnAssign(const LogRecord& record) {
  AssignRequest request;
  PERSIA_RETURN_IF_ERROR(ReadAssign(record, &request));
  const Result<Table*> table = subject_.slots.store->Find(request.table);
  if (!table.ok()) return table.status();
  PERSIA_RETURN_IF_ERROR(CheckAssign(request, **table));
  (*table)->Assign(request.ids, request.weights, request.state);
  return Status();
}

Status Recovery::OnRestore(const LogRecord& record) {
  found_ = true;
  RestoreRecord restore;
  PERSIA_RETURN_IF_ERROR(ReadRestore(record, &restore));
  *subject_.generation = restore.generation;
  for (const auto& [key, identity] : restore.tables) {
    identities_[key] = identity;
  }
  if (level_ == RecoveryLevel::kLog) return Load(restore);
  checkpoint_ = std::move(restore);  // Finish loads the last one only.
  dropped_.clear();
  return Status();
}

Status Recovery::OnCut(const LogRecord& record) {
  CutRecord cut;
  PERSIA_RETURN_IF_ERROR(ReadCut(record, &cut));
  *subject_.generation = cut.generation;
  for (const CutRecord::OfTable& of_table : cut.tables) {
    const Result<Table*> table = subject_.slots.store->Find(of_table.key);
    if (!table.ok()) return table.status();
    (*table)->SetRounded(of_table.rounded);
    identities_[of_table.key] = of_table.identity;
  }
  return Status();
}

Status Recovery::OnDrop(const LogRecord& record) {
  DropTableRequest drop;
  PERSIA_RETURN_IF_ERROR(ReadDrop(record, &drop));
  const auto dropped =
      subject_.slots.store->Drop(drop.table, drop.drop_id, drop.stays);
  if (!dropped.ok()) return dropped.status();
  dropped_.insert(drop.table);
  StopEvictions();
  return Status();
}

Status Recovery::OnUses(const LogRecord& record) {
  UsesRecord uses;
  PERSIA_RETURN_IF_ERROR(ReadUses(record, &uses));
  const Result<Table*> table = subject_.slots.store->Find(uses.table);
  if (!table.ok()) return table.status();
  (*table)->NoteUses(uses.ids, uses.time);
  (*table)->SetTime(uses.now);
  return Status();
}

Status Recovery::OnTopology(const LogRecord& record) {
  uint64_t member = 0;
  uint32_t incarnation = 0;
  ConstBytes bytes;
  PERSIA_RETURN_IF_ERROR(ReadTopology(record, &member, &incarnation, &bytes));
  found_topology_ = true;
  subject_.slots.ownership->SetMember(member, incarnation);
  if (bytes.empty()) return Status();
  const auto topology = Topology::Decode(bytes);
  if (!topology.ok()) return topology.status();
  auto shared = std::make_shared<const Topology>(*topology);
  // If this is the log of the standby that has taken the shard's place, its
  // next record says so, and what was applied to the slots still counts.
  replaced_by_ = nullptr;
  if (subject_.slots.ownership->IsReplaced(*shared)) {
    replaced_by_ = std::move(shared);
  } else {
    Use(std::move(shared));
  }
  return Status();
}

void Recovery::Use(SharedTopology topology) {
  given_away_ |= Adopt(subject_.slots, std::move(topology));
  SetShare(subject_.slots, SlotSet());
}

Status Recovery::OnPlaced(const LogRecord& record) {
  PlacedRecord placed;
  PERSIA_RETURN_IF_ERROR(ReadPlaced(record, &placed));
  const Result<Table*> table = subject_.slots.store->Find(placed.table);
  if (!table.ok()) return table.status();
  if ((*table)->layout().row_bytes != placed.row_bytes) {
    return Status(
        Code::kDataLoss,
        Concat("record ", record.position, " has rows of ", placed.row_bytes,
               " bytes for table \"", (*table)->config().name,
               "\", whose rows have ", (*table)->layout().row_bytes));
  }
  RawRows rows;
  rows.ids.assign(placed.ids.begin(), placed.ids.end());
  rows.bytes.assign(placed.rows.begin(), placed.rows.end());
  (*table)->Restore(rows);
  return Status();
}

Status Recovery::OnCleared(const LogRecord& record) {
  ClearedRecord cleared;
  PERSIA_RETURN_IF_ERROR(ReadCleared(record, &cleared));
  *subject_.generation = cleared.generation;
  if (cleared.removes) Remove(cleared.slots);
  given_away_ &= ~cleared.slots;
  if (cleared.arrives) {
    subject_.slots.prepared->Begin(cleared.slots);
  } else {
    subject_.slots.prepared->Drop(cleared.slots);
  }
  SetShare(subject_.slots, SlotSet());
  return Status();
}

Status Recovery::OnApplied(const LogRecord& record) {
  AppliedRecord applied;
  PERSIA_RETURN_IF_ERROR(ReadApplied(record, &applied));
  if (applied.is_owned) {
    subject_.slots.windows->Take(applied.applied);
  } else {
    subject_.slots.prepared->Prepare(std::move(applied.applied));
  }
  return Status();
}

void Recovery::Remove(const SlotSet& slots) {
  if (slots.none()) return;
  for (Table* const table : subject_.slots.store->All())
    table->RemoveSlots(slots);
}

Status Recovery::Load(const RestoreRecord& restore) {
  StoreLoader loader(subject_.slots.store, restore.shard);
  if (level_ == RecoveryLevel::kCheckpoint) loader.PassOver(dropped_);
  const Status read = Read(restore, &loader);
  if (!read.ok()) {
    return Status(
        read.code(),
        Concat(
            "this shard needs checkpoint ", restore.folder, " to recover: ",
            level_ == RecoveryLevel::kLog
                ? "it was restored, and the shard ended before its log had a "
                  "base with these rows"
                : "with --recovery checkpoint its rows are nowhere else",
            ". ", read.message(),
            "; put the checkpoint back, or start with an empty recovery "
            "folder"));
  }
  if (level_ == RecoveryLevel::kLog) needed_checkpoint_ = restore.folder;
  Store::Tables tables = loader.TakeTables();
  subject_.slots.store->Replace(&tables);
  const auto clients = loader.TakeClients();
  if (!clients.empty()) subject_.slots.windows->Import(clients);
  StopEvictions();
  return Status();
}

Status Recovery::Read(const RestoreRecord& restore, StoreLoader* loader) const {
  const auto paths = PathsWithin(checkpoints_.root, restore.files);
  if (!paths.ok()) return paths.status();
  ShardProgress progress;
  return loader->Load(checkpoints_.files, *paths, &progress);
}

// Tables must not evict during replay: the log has a record of each eviction.
void Recovery::StopEvictions() {
  for (Table* table : subject_.slots.store->All()) table->SetEvicts(false);
}

void TellRecovery(const Recovery& recovery, const Store& store,
                  const Journal& journal, EventLog* events) {
  uint64_t rows = 0;
  for (const TableStats& table : store.Stats()) rows += table.rows;
  std::string source = "its log";
  if (recovery.level() == RecoveryLevel::kCheckpoint) {
    source = recovery.checkpoint().has_value()
                 ? "checkpoint " + recovery.checkpoint()->folder
                 : "no checkpoint, since there is none yet";
  }
  TellEvent(events, kRecoveries, "this shard recovered ", store.All().size(),
            " tables and ", rows, " rows from ", source, " (read ",
            journal.notes(), ")");
}

void TellTornTail(const Journal& journal, EventLog* events) {
  if (!journal.torn_tail()) return;
  const TornTail& torn = *journal.torn_tail();
  TellEvent(
      events, kTornLogs, "left out the last ", torn.bytes, " bytes of ",
      torn.path, ", from byte ", torn.offset, " on, in which ", torn.records,
      " records begin; the first would be record ", journal.position(),
      torn.is_given_up
          ? Concat(": --lose-log-from gave them up, together with ",
                   torn.segments.size(),
                   " later files, which were renamed to names that begin "
                   "with lost-")
          : std::string(", and a crash interrupted their writing before they "
                        "were acknowledged, unless the disk lost data"));
}

}  // namespace persia
