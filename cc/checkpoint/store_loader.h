// StoreLoader: makes tables of what the files of a checkpoint hold: those rows
// that are this shard's.
//
// A table that the store has keeps the store's settings; another one gets the
// checkpoint's, and one whose optimizer is undecided the checkpoint's
// optimizer. What an increment has takes the place of what the files before it
// had. The store itself is not changed. Not thread-safe.

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
  // Rows of shard `own.shard_index` of `own.shard_count`, of checkpoint
  // `own.save_id`. `store` must outlive the loader.
  StoreLoader(const Store* store, const ShardHeader& own)
      : store_(*store), own_(own) {}

  // For a file of this shard alone, as a base is: each table is of the shard
  // that its settings say, and all its rows are taken.
  void TakeAllRows() { takes_all_rows_ = true; }

  // What the files have of these tables is passed over.
  void PassOver(std::set<TableKey> tables) { passed_over_ = std::move(tables); }

  // Tables begin with the times that the files' have: one goes on as it was,
  // where a checkpoint's rows are as old as they were when it was saved.
  void KeepTimes() { keeps_times_ = true; }

  // Reads the files at `paths`: see ReadChain. Blocks for as long as the device
  // takes. kDataLoss, naming a file, unless they are the checkpoint, all of it.
  Status Load(FileSystem* files, const std::vector<std::string>& paths,
              ShardProgress* progress);

  Status OnHeader(const ShardHeader& header) override;
  Status OnTable(const TableHead& table) override;
  Status OnErased(Span<const int64_t> ids) override;
  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override;
  Status OnClients(const std::vector<ClientWindow>& clients) override;

  // What was loaded.
  Store::Tables TakeTables() { return std::move(tables_); }
  // What the store had of them when their settings were taken; null: nothing.
  Store::Tables TakeKnown() { return std::move(known_); }
  // Those of this very shard's file; none if the checkpoint is of another
  // number of shards: then nobody knows what was applied where.
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
  // Tables of each shard that files were read of.
  std::set<std::pair<uint32_t, TableKey>> seen_;
  ShardHeader header_;  // Of the file that is read.
  std::set<TableKey> passed_over_;
  bool keeps_times_ = false;
  Table* table_ = nullptr;  // Null of one that is passed over.
  std::unique_ptr<RowConverter> converter_;
  RawRows rows_;
  std::vector<int64_t> erased_;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
