// StoreLoader: makes tables of what the files of a checkpoint hold: those rows
// that are this shard's.
//
// A table that the store has keeps the store's settings; another one gets the
// checkpoint's. The store itself is not changed. Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
#define PERSIA_CC_CHECKPOINT_STORE_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/checkpoint/row_converter.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/store.h"

namespace persia {

class StoreLoader : public ShardVisitor {
 public:
  // Rows of shard `own.shard_index` of `own.shard_count`, from files of
  // checkpoint `own.save_id`. `store` must outlive the loader.
  StoreLoader(const Store* store, const ShardHeader& own)
      : store_(*store), own_(own) {}

  Status OnHeader(const ShardHeader& header) override;
  Status OnTable(const TableConfig& config, uint32_t time) override;
  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override;
  Status OnClients(const std::vector<ClientWindow>& clients) override;

  // What was loaded.
  Store::Tables TakeTables() { return std::move(tables_); }
  // Those of this very shard's file; none if the checkpoint is of another
  // number of shards: then nobody knows what was applied where.
  std::vector<ClientWindow> TakeClients() { return std::move(clients_); }

 private:
  const Store& store_;
  const ShardHeader own_;
  Store::Tables tables_;
  std::vector<ClientWindow> clients_;
  ShardHeader header_;  // Of the file that is read.
  Table* table_ = nullptr;
  std::unique_ptr<RowConverter> converter_;
  RawRows rows_;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
