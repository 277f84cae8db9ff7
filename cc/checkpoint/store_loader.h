// StoreLoader: makes tables from the rows in a checkpoint's files that belong
// to this shard.
//
// A table that the store has keeps the store's settings, except that an
// undecided optimizer becomes the checkpoint's. Other tables get the
// checkpoint's settings. What an increment holds replaces what older files
// held. The store itself is not changed. Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
#define PERSIA_CC_CHECKPOINT_STORE_LOADER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/checkpoint/chain.h"
#include "cc/checkpoint/row_converter.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/store.h"

namespace persia {

class StoreLoader : public ShardVisitor {
 public:
  // Loads the rows of checkpoint `own.save_id` that belong to shard
  // `own.shard_index` of `own.shard_count`. `store` must outlive the loader.
  StoreLoader(const Store* store, const ShardHeader& own)
      : store_(*store), own_(own) {}

  // For a file of this shard alone, such as a log base: each table keeps the
  // shard that its settings name, and all its rows are loaded.
  void TakeAllRows() { takes_all_rows_ = true; }

  // Skips these tables in the files.
  void PassOver(std::set<TableKey> tables) { passed_over_ = std::move(tables); }

  // Gives tables the files' times, so that a table continues where it was. By
  // default a row of a checkpoint is as old as it was when saved, by the new
  // table's clock.
  void KeepTimes() { keeps_times_ = true; }

  // Reads the files at `paths`: see ReadChain. Blocks for as long as the device
  // takes. kDataLoss, naming a file, unless they are the whole checkpoint.
  Status Load(FileSystem* files, const std::vector<std::string>& paths,
              ShardProgress* progress);

  Status OnHeader(const ShardHeader& header) override;
  Status OnTable(const TableHead& table) override;
  Status OnErased(Span<const int64_t> ids) override;
  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override;
  Status OnClients(const std::vector<ClientWindow>& clients) override;

  // The loaded tables.
  Store::Tables TakeTables() { return std::move(tables_); }
  // The store's tables of the same names when their settings were read; null
  // where it had none.
  Store::Tables TakeKnown() { return std::move(known_); }
  // The windows in the file of this very shard. Empty if the checkpoint has
  // another number of shards: then it is unknown which updates were applied
  // where.
  std::vector<ClientWindow> TakeClients() { return std::move(clients_); }

 private:
  bool IsOwn(int64_t id) const {
    return takes_all_rows_ || ShardOf(id, own_.shard_count) == own_.shard_index;
  }
  Status CheckScope(const TableHead& table);
  Result<Table*> FindOrMake(const TableConfig& config);

  const Store& store_;
  const ShardHeader own_;
  bool takes_all_rows_ = false;
  Store::Tables tables_;
  Store::Tables known_;
  std::vector<ClientWindow> clients_;
  NewestTimes newest_;
  // The tables read so far, with the shard of their file.
  std::set<std::pair<uint32_t, TableKey>> seen_;
  ShardHeader header_;  // Of the current file.
  std::set<TableKey> passed_over_;
  bool keeps_times_ = false;
  Table* table_ = nullptr;  // Null if the current table is skipped.
  std::unique_ptr<RowConverter> converter_;
  RawRows rows_;
  std::vector<int64_t> erased_;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
