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
constexpr double kSeconds = 60;

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
  request->deadline = DeadlineAfter(kSeconds);
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
  return Status();
}

Result<std::shared_ptr<ReplicaRows::Filled>> ReplicaRows::MakeFilled() const {
  LocalServiceOptions options;
  options.limits = limits_;
  auto service = OpenLocalService(options);
  if (!service.ok()) return service.status();
  auto filled = std::make_shared<Filled>();
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
  if (changes.begins == Begins::kWhole) PERSIA_RETURN_IF_ERROR(CollectOld());
  // If the source begins with the changes since a save, it does not send all
  // its rows. A row that it does not send may then still exist in the source,
  // so no old row is removed.
  if (changes.begins == Begins::kSinceSave) old_.clear();
  for (const TableChanges& table : changes.tables) {
    PERSIA_RETURN_IF_ERROR(ApplyTo(table));
  }
  if (changes.complete) {
    PERSIA_RETURN_IF_ERROR(DropOld());
    std::lock_guard<std::mutex> lock(mutex_);
    serving_ = filling_;
  }
  position_ = changes.position;
  return Status();
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
  const auto old = old_.find(key);
  if (old != old_.end()) old->second.was_told = true;
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
  for (const int64_t id : rows.ids) (void)old->second.ids->Erase(id);
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

Status ReplicaRows::CollectOld() {
  old_.clear();
  std::vector<TableKey> tables;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, source] : filling_->sources) tables.push_back(key);
  }
  for (const TableKey table : tables) {
    auto ids = std::make_unique<RowIndex>();
    ExportRequest page;
    page.table = table;
    page.max_rows = kPageRows;
    while (!page.cursor.at_end()) {
      PERSIA_RETURN_IF_ERROR(
          Send(filling_->service.get(), &EmbeddingService::Export, &page));
      for (const int64_t id : page.page.ids) ids->Insert(id, 0);
    }
    old_[table].ids = std::move(ids);
  }
  return Status();
}

Status ReplicaRows::DropOld() {
  for (auto old = old_.begin(); old != old_.end();) {
    if (!old->second.was_told) {
      ++old;
      continue;
    }
    PERSIA_RETURN_IF_ERROR(RemoveAll(old->first, *old->second.ids));
    old = old_.erase(old);
  }
  return Status();
}

Status ReplicaRows::RemoveAll(TableKey table, const RowIndex& index) {
  std::vector<int64_t> ids;
  ids.reserve(index.size());
  index.Walk(0, index.size() + 1,
             [&](int64_t id, RowIndex::Row) { ids.push_back(id); });
  for (size_t at = 0; at < ids.size(); at += kPageRows) {
    const size_t end = std::min<size_t>(ids.size(), at + kPageRows);
    PERSIA_RETURN_IF_ERROR(
        Remove(table, {ids.begin() + static_cast<ptrdiff_t>(at),
                       ids.begin() + static_cast<ptrdiff_t>(end)}));
  }
  return Status();
}

}  // namespace persia
