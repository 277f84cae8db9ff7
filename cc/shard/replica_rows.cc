#include "cc/shard/replica_rows.h"

#include <algorithm>
#include <utility>

#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"
#include "cc/service/await.h"
#include "cc/shard/local_service.h"

namespace persia {
namespace {

// Seconds until the deadline of calls to the store in this process. No call
// takes that long.
constexpr double kRequestSeconds = 60;

constexpr uint64_t kPageRows = 65536;

// Whether a row of this dtype has exactly the same values after it was read and
// assigned to another table of this dtype.
bool IsExact(const Spec& row_dtype) {
  return row_dtype.name == "float32" || row_dtype.name == "float16" ||
         row_dtype.name == "bfloat16";
}

template <typename Request>
Status Send(EmbeddingService* service,
            void (EmbeddingService::*call)(Request*, DoneCallback),
            Request* request) {
  request->deadline = DeadlineAfter(kRequestSeconds);
  return Await(
      [&](DoneCallback done) { (service->*call)(request, std::move(done)); });
}

}  // namespace

TableConfig ReplicaConfig(const TableConfig& source) {
  const TableConfig defaults;
  TableConfig config = source;
  config.optimizer = {"sgd", {}};
  config.admission = defaults.admission;
  config.eviction = defaults.eviction;
  config.capacity = defaults.capacity;
  if (!IsExact(source.row_dtype)) config.row_dtype = defaults.row_dtype;
  return config;
}

Result<std::unique_ptr<ReplicaRows>> ReplicaRows::Make(
    const StoreLimits& limits) {
  std::unique_ptr<ReplicaRows> rows(new ReplicaRows(limits));
  const auto follower = RandomNonZero();
  if (!follower.ok()) return follower.status();
  rows->position_.follower = *follower;
  PERSIA_RETURN_IF_ERROR(rows->BeginEmpty());
  rows->serving_ = rows->filling_;
  return rows;
}

std::shared_ptr<EmbeddingService> ReplicaRows::serving() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return serving_->service;
}

std::optional<TableConfig> ReplicaRows::SourceConfig(
    const std::string& table) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = serving_->sources.find(HashName(table));
  if (found == serving_->sources.end()) return std::nullopt;
  return found->second;
}

std::shared_ptr<const ReplicaRows::Slots> ReplicaRows::slots() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return serving_->slots->get();
}

void ReplicaRows::ServedSlots::Set(OwnedSlots owned) {
  auto slots = std::make_shared<Slots>();
  slots->served = SlotsIn(owned);
  slots->all = slots->served.all();
  slots->owned = std::move(owned);
  std::lock_guard<std::mutex> lock(mutex_);
  slots_ = std::move(slots);
}

std::shared_ptr<const ReplicaRows::Slots> ReplicaRows::ServedSlots::get()
    const {
  std::lock_guard<std::mutex> lock(mutex_);
  return slots_;
}

// Starts over with an empty store. The new position has no epoch, so the source
// will send all rows again.
Status ReplicaRows::BeginEmpty() {
  auto filled = MakeFilled();
  if (!filled.ok()) return filled.status();
  FollowPosition position;
  position.follower = position_.follower;
  filling_ = std::move(*filled);
  position_ = position;
  old_.clear();
  held_ = OwnedSlots();
  unfilled_.reset();
  return Status();
}

Result<std::shared_ptr<ReplicaRows::Filled>> ReplicaRows::MakeFilled() const {
  auto filled = std::make_shared<Filled>();
  filled->slots = std::make_shared<ServedSlots>();
  LocalServiceOptions options;
  options.limits = limits_;
  options.followed_slots = [slots = filled->slots] {
    return slots->get()->owned;
  };
  auto service = OpenLocalService(options);
  if (!service.ok()) return service.status();
  filled->service = std::move(*service);
  return filled;
}

Status ReplicaRows::Apply(const ChangesRequest& changes) {
  const bool other_settings =
      std::any_of(changes.tables.begin(), changes.tables.end(),
                  [&](const TableChanges& table) {
                    return table.fate != TableFate::kDropped &&
                           HasOtherSettings(table.config);
                  });
  if (other_settings) return BeginEmpty();
  // If the source begins with the changes since a save, it does not send all
  // its rows. A row that it does not send may then still exist in the source,
  // so no old row is removed.
  if (changes.begins != Begins::kNothing) {
    old_.clear();
    told_.clear();
  }
  PERSIA_RETURN_IF_ERROR(NoteSlots(changes));
  for (const TableChanges& table : changes.tables) {
    PERSIA_RETURN_IF_ERROR(ApplyTo(table));
  }
  if (changes.complete) {
    PERSIA_RETURN_IF_ERROR(DropOld());
    unfilled_.reset();
    Serve(held_);
    std::lock_guard<std::mutex> lock(mutex_);
    serving_ = filling_;
  }
  position_ = changes.position;
  return Status();
}

Status ReplicaRows::NoteSlots(const ChangesRequest& changes) {
  const SlotSet before = SlotsIn(held_);
  const SlotSet now = SlotsIn(changes.held);
  const SlotSet stays = CommonSlots(held_, changes.held);
  const SlotSet newly = changes.fresh & ~(unfilled_ & stays);
  const OwnedSlots served = filling_->slots->get()->owned;
  Serve(Restricted(served, CommonSlots(served, changes.held)));
  PERSIA_RETURN_IF_ERROR(RemoveSlots(before & ~now));
  // Of other slots, the store has no rows.
  const bool begins = changes.begins == Begins::kWhole;
  PERSIA_RETURN_IF_ERROR(CollectOld(begins ? SlotSet().set() : newly & before));
  unfilled_ = (unfilled_ & stays) | changes.fresh;
  held_ = changes.held;
  return Status();
}

// Followers of this replica begin to be told of slots only now.
void ReplicaRows::Serve(const OwnedSlots& owned) {
  const auto present = filling_->slots->get();
  const SlotSet slots = SlotsIn(owned);
  const bool same =
      present->served == slots && CommonSlots(present->owned, owned) == slots;
  if (same) return;
  filling_->slots->Set(owned);
}

bool ReplicaRows::HasOtherSettings(const TableConfig& source) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto held = filling_->sources.find(HashName(source.name));
  return held != filling_->sources.end() &&
         !CheckSameTable(held->second, source).ok();
}

Status ReplicaRows::ApplyTo(const TableChanges& table) {
  const TableKey key = HashName(table.config.name);
  PERSIA_RETURN_IF_ERROR(ApplyFate(key, table.fate));
  if (table.fate == TableFate::kDropped) return Status();
  PERSIA_RETURN_IF_ERROR(MakeTable(table.config));
  told_.insert(key);
  const auto old = old_.find(key);
  const RowDelta& rows = table.rows;
  PERSIA_RETURN_IF_ERROR(Remove(key, rows.erased));
  if (rows.ids.empty()) return Status();
  AssignRequest assign;
  assign.table = key;
  assign.dim = table.config.dim;
  assign.ids = rows.ids;
  assign.weights = rows.weights;
  PERSIA_RETURN_IF_ERROR(
      Send(filling_->service.get(), &EmbeddingService::Assign, &assign));
  if (old == old_.end()) return Status();
  for (const int64_t id : rows.ids) (void)old->second->Erase(id);
  return Status();
}

// Drops or clears the table if the source did. The store reports that to its
// own followers.
Status ReplicaRows::ApplyFate(TableKey table, TableFate fate) {
  if (fate == TableFate::kStays) return Status();
  const auto drop_id = RandomNonZero();
  if (!drop_id.ok()) return drop_id.status();
  DropTableRequest drop;
  drop.table = table;
  drop.stays = fate == TableFate::kCleared;
  drop.drop_id = *drop_id;
  PERSIA_RETURN_IF_ERROR(
      Send(filling_->service.get(), &EmbeddingService::DropTable, &drop));
  old_.erase(table);
  told_.erase(table);
  if (drop.stays) return Status();
  std::lock_guard<std::mutex> lock(mutex_);
  filling_->sources.erase(table);
  return Status();
}

Status ReplicaRows::MakeTable(const TableConfig& source) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (filling_->sources.count(HashName(source.name)) > 0) return Status();
  }
  CreateTableRequest create;
  create.config = ReplicaConfig(source);
  PERSIA_RETURN_IF_ERROR(
      Send(filling_->service.get(), &EmbeddingService::CreateTable, &create));
  std::lock_guard<std::mutex> lock(mutex_);
  filling_->sources[HashName(source.name)] = source;
  return Status();
}

Status ReplicaRows::Remove(TableKey table, const std::vector<int64_t>& ids) {
  if (ids.empty()) return Status();
  RemoveRequest remove;
  remove.table = table;
  remove.ids = ids;
  return Send(filling_->service.get(), &EmbeddingService::Remove, &remove);
}

template <typename Use>
Status ReplicaRows::ForEachRow(const SlotSet& slots, const Use& use) {
  if (slots.none()) return Status();
  std::vector<TableKey> tables;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, source] : filling_->sources) tables.push_back(key);
  }
  for (const TableKey table : tables) {
    ExportRequest page;
    page.table = table;
    page.max_rows = kPageRows;
    while (!page.cursor.at_end()) {
      PERSIA_RETURN_IF_ERROR(
          Send(filling_->service.get(), &EmbeddingService::Export, &page));
      for (const int64_t id : page.page.ids) {
        if (slots[SlotOf(id)]) use(table, id);
      }
    }
  }
  return Status();
}

Status ReplicaRows::CollectOld(const SlotSet& slots) {
  if (slots.none()) return Status();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [table, source] : filling_->sources) {
      auto& old = old_[table];
      if (old == nullptr) old = std::make_unique<RowIndex>();
    }
  }
  return ForEachRow(slots, [&](TableKey table, int64_t id) {
    RowIndex& ids = *old_[table];
    if (ids.Find(id) == RowIndex::kAbsent) ids.Insert(id, 0);
  });
}

Status ReplicaRows::RemoveSlots(const SlotSet& slots) {
  std::unordered_map<TableKey, std::vector<int64_t>> gone;
  PERSIA_RETURN_IF_ERROR(ForEachRow(
      slots, [&](TableKey table, int64_t id) { gone[table].push_back(id); }));
  for (const auto& [table, ids] : gone) {
    PERSIA_RETURN_IF_ERROR(RemoveAll(table, ids));
  }
  return Status();
}

Status ReplicaRows::DropOld() {
  for (auto old = old_.begin(); old != old_.end();) {
    if (told_.count(old->first) == 0) {
      ++old;
      continue;
    }
    const RowIndex& index = *old->second;
    std::vector<int64_t> ids;
    ids.reserve(index.size());
    index.Walk(0, index.size() + 1,
               [&](int64_t id, RowIndex::Row) { ids.push_back(id); });
    PERSIA_RETURN_IF_ERROR(RemoveAll(old->first, ids));
    old = old_.erase(old);
  }
  return Status();
}

Status ReplicaRows::RemoveAll(TableKey table, const std::vector<int64_t>& ids) {
  for (size_t at = 0; at < ids.size(); at += kPageRows) {
    const size_t end = std::min<size_t>(ids.size(), at + kPageRows);
    PERSIA_RETURN_IF_ERROR(
        Remove(table, {ids.begin() + static_cast<ptrdiff_t>(at),
                       ids.begin() + static_cast<ptrdiff_t>(end)}));
  }
  return Status();
}

}  // namespace persia
