// StoreLoader: makes tables from the rows of a checkpoint that belong to this
// shard.
//
// A table that the store already has keeps the store's settings, except that an
// undecided optimizer is replaced by the checkpoint's. Other tables get the
// checkpoint's settings. Rows of an increment replace those of older files. The
// loader does not change the store itself. Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
#define PERSIA_CC_CHECKPOINT_STORE_LOADER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/slot_set.h"
#include "cc/checkpoint/chain.h"
#include "cc/checkpoint/row_converter.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/store.h"

namespace persia {

class StoreLoader : public ShardVisitor {
 public:
  // Loads the rows of checkpoint `own.save_id` that are in `own.slots`. `store`
  // must outlive the loader.
  StoreLoader(const Store* store, const ShardHeader& own)
      : store_(*store), own_(own) {}

  // Loads all rows of the files, whatever their slots and however many they
  // are: the tables do not evict until their SetEvicts is called. Call this for
  // a file that this shard alone wrote, such as a log base.
  void TakeAllRows() { takes_all_rows_ = true; }

  // Skips `tables` when the files are read.
  void PassOver(std::set<TableKey> tables) { passed_over_ = std::move(tables); }

  // Sets each table's clock to the time in the files, so that the table
  // continues as if it had not been saved. Without this call, the new table's
  // own clock is used, and a row's last use is shifted so that its age is the
  // same as when it was saved.
  void KeepTimes() { keeps_times_ = true; }

  // Reads the files at `paths`, which ReadChain checks. Returns kDataLoss,
  // naming a file, unless they form the whole checkpoint. Waits for the storage
  // device, without a time limit.
  Status Load(FileSystem* files, const std::vector<std::string>& paths,
              ShardProgress* progress);

  Status OnHeader(const ShardHeader& header) override;
  Status OnTable(const TableHead& table) override;
  Status OnErased(Span<const int64_t> ids) override;
  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override;
  Status OnClients(const std::vector<ClientWindow>& clients) override;

  // Returns the loaded tables, which the loader then no longer has.
  Store::Tables TakeTables() { return std::move(tables_); }
  // For each loaded table, returns the store's table of the same name, from
  // which the loader took the settings, or null if the store had none.
  Store::Tables TakeKnown() { return std::move(known_); }
  // Returns the client windows in the checkpoint's file of the slots that this
  // shard owns. The result is empty if no file has exactly these, because then
  // it is unknown which shard applied which updates.
  std::vector<ClientWindow> TakeClients() { return std::move(clients_); }

 private:
  bool IsOwn(int64_t id) const {
    return takes_all_rows_ || own_.slots[SlotOf(id)];
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
  // The tables that were read so far, each with the id of the shard whose file
  // has it.
  std::set<std::pair<uint64_t, TableKey>> seen_;
  ShardHeader header_;  // The header of the file being read.
  std::set<TableKey> passed_over_;
  bool keeps_times_ = false;
  Table* table_ = nullptr;  // Null if the current table is skipped.
  std::unique_ptr<RowConverter> converter_;
  RawRows rows_;
  std::vector<int64_t> erased_;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_STORE_LOADER_H_
