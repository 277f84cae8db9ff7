#include "cc/checkpoint/store_loader.h"

#include <utility>

#include "cc/base/hash.h"

namespace persia {

Status StoreLoader::OnHeader(const ShardHeader& header) {
  header_ = header;
  if (header.save_id == own_.save_id) return Status();
  return Status(Code::kDataLoss,
                Concat("the file is of save ", header.save_id,
                       ", its checkpoint of save ", own_.save_id));
}

Status StoreLoader::OnTable(const TableConfig& config, uint32_t time) {
  const TableKey key = HashName(config.name);
  auto& loaded = tables_[key];
  if (loaded == nullptr) {
    TableConfig wanted = config;
    const Result<Table*> known = store_.Find(key);
    if (known.ok()) wanted = (*known)->config();
    wanted.shard_index = own_.shard_index;
    wanted.shard_count = own_.shard_count;
    auto made = MakeTable(wanted);
    if (!made.ok()) return made.status();
    loaded = std::move(*made);
  }
  table_ = loaded.get();
  auto converter =
      RowConverter::Make({config, time}, {table_->config(), table_->time()});
  if (!converter.ok()) return converter.status();
  converter_ = std::move(*converter);
  return Status();
}

Status StoreLoader::OnRows(Span<const int64_t> ids,
                           Span<const std::byte> rows) {
  rows_.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ShardOf(ids[i], own_.shard_count) != own_.shard_index) continue;
    converter_->Convert(ids[i], rows.data() + i * converter_->from_row_bytes(),
                        &rows_);
  }
  table_->Restore(rows_);
  return Status();
}

Status StoreLoader::OnClients(const std::vector<ClientWindow>& clients) {
  if (header_.shard_index == own_.shard_index &&
      header_.shard_count == own_.shard_count) {
    clients_ = clients;
  }
  return Status();
}

}  // namespace persia
