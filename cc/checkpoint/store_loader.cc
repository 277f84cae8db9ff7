#include "cc/checkpoint/store_loader.h"

#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"

namespace persia {

Status StoreLoader::Load(FileSystem* files,
                         const std::vector<std::string>& paths,
                         ShardProgress* progress) {
  const auto chain = ReadChain(files, paths, own_.save_id);
  if (!chain.ok()) return chain.status();
  PERSIA_RETURN_IF_ERROR(CheckHasAllSlots(*chain, own_.save_id));
  auto newest = ReadNewestTimes(files, *chain, own_.save_id, *progress);
  if (!newest.ok()) return newest.status();
  newest_ = std::move(*newest);
  for (const ChainFile& file : *chain) {
    PERSIA_RETURN_IF_ERROR(ReadShard(files, file.path, this, progress));
  }
  return Status();
}

Status StoreLoader::OnHeader(const ShardHeader& header) {
  header_ = header;
  return Status();
}

Status StoreLoader::OnTable(const TableHead& table) {
  PERSIA_RETURN_IF_ERROR(CheckScope(table));
  table_ = nullptr;
  if (passed_over_.count(HashName(table.config.name)) > 0) return Status();
  const auto found = FindOrMake(table.config);
  if (!found.ok()) return found.status();
  table_ = *found;
  const auto newest =
      newest_.find({header_.member, HashName(table.config.name)});
  const uint32_t time = newest == newest_.end() ? table.time : newest->second;
  if (keeps_times_) table_->SetTime(time);
  auto converter = RowConverter::Make({table.config, time},
                                      {table_->config(), table_->time()});
  if (!converter.ok()) return converter.status();
  converter_ = std::move(*converter);
  return Status();
}

// If older files have a table, an increment must contain only the table's
// changes; if none has it, the increment must contain the whole table.
// Otherwise the rows of a whole table would be mixed with older rows.
Status StoreLoader::CheckScope(const TableHead& table) {
  const bool is_new =
      seen_.insert({header_.member, HashName(table.config.name)}).second;
  const bool is_whole = table.scope == SaveScope::kWhole;
  if (header_.parent_id == 0 || is_new == is_whole) return Status();
  return Status(
      Code::kDataLoss,
      Concat("this increment has ", is_whole ? "all" : "only changed",
             " rows of table \"", table.config.name,
             "\", although the checkpoint before it ",
             is_whole ? "already has the table" : "does not have the table"));
}

Result<Table*> StoreLoader::FindOrMake(const TableConfig& config) {
  const TableKey key = HashName(config.name);
  auto& loaded = tables_[key];
  if (loaded == nullptr) {
    TableConfig wanted = config;
    const auto known = store_.Share(key);
    known_[key] = known.ok() ? *known : nullptr;
    if (known.ok()) {
      wanted = (*known)->config();
      if (IsUndecided(wanted.optimizer)) wanted.optimizer = config.optimizer;
    }
    auto made = MakeTable(wanted, nullptr, store_.meter(),
                          static_cast<uint32_t>(own_.slots.count()));
    if (!made.ok()) return made.status();
    loaded = std::move(*made);
    if (takes_all_rows_) loaded->SetEvicts(false);
  }
  return loaded.get();
}

Status StoreLoader::OnErased(Span<const int64_t> ids) {
  if (table_ == nullptr) return Status();
  erased_.clear();
  for (const int64_t id : ids) {
    if (IsOwn(id)) erased_.push_back(id);
  }
  table_->Remove(erased_);
  return Status();
}

Status StoreLoader::OnRows(Span<const int64_t> ids,
                           Span<const std::byte> rows) {
  if (table_ == nullptr) return Status();
  rows_.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!IsOwn(ids[i])) continue;
    converter_->Convert(ids[i], rows.data() + i * converter_->from_row_bytes(),
                        &rows_);
  }
  table_->Restore(rows_);
  return Status();
}

Status StoreLoader::OnClients(const std::vector<ClientWindow>& clients) {
  if (header_.slots == own_.slots) clients_ = clients;
  return Status();
}

}  // namespace persia
