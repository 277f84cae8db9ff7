// WriteShard and ReadShard: write and read one shard's file of a checkpoint.
// See block.h for the file's format.
//
// Both functions wait for the storage device, without a time limit.

#ifndef PERSIA_CC_CHECKPOINT_SHARD_FILE_H_
#define PERSIA_CC_CHECKPOINT_SHARD_FILE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/slot_set.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/files/file_system.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

struct ShardHeader {
  uint64_t save_id = 0;
  // The id of the save that this increment builds on; 0 for a whole save.
  uint64_t parent_id = 0;
  uint64_t member = 0;  // The shard's id, not 0: see topology/member.h.
  SlotSet slots;        // The slots whose rows the shard owned, all of them.
};

// The progress of a save or a restore. Thread-safe.
struct ShardProgress {
  std::atomic<uint64_t> rows{0};
  std::atomic<uint64_t> bytes{0};
  // Set to true to stop the operation soon, with kCancelled.
  std::atomic<bool> cancelled{false};
};

// The description of a table, which precedes its rows in a file.
struct TableHead {
  TableConfig config;
  RowLayout layout{};
  // The table's time when its rows were frozen: see Table::time.
  uint32_t time = 0;
  SaveScope scope = SaveScope::kWhole;
};

struct SavedTable {
  TableHead head;
  FrozenRows* rows;
};

// Writes the file at `path` and makes it durable. If an error occurs, the file
// at `path` may be incomplete and must not be used.
Status WriteShard(FileSystem* files, const std::string& path,
                  const ShardHeader& header,
                  const std::vector<SavedTable>& tables,
                  const std::vector<ClientWindow>& clients,
                  ShardProgress* progress);

// Receives the contents of a shard's file in order. If a method returns an
// error, reading stops with this error.
class ShardVisitor {
 public:
  virtual ~ShardVisitor() = default;
  virtual Status OnHeader(const ShardHeader& header) = 0;
  // `table` has a valid config, and the layout that LayoutOf computes from this
  // config.
  virtual Status OnTable(const TableHead& table) = 0;
  // OnErased and OnRows refer to the table of the last OnTable. Their spans are
  // valid only during the call.
  virtual Status OnErased(Span<const int64_t> ids) = 0;
  virtual Status OnRows(Span<const int64_t> ids,
                        Span<const std::byte> rows) = 0;
  virtual Status OnClients(const std::vector<ClientWindow>& clients) = 0;
};

// Reads the whole file. If it is not exactly what WriteShard wrote, returns
// kDataLoss with the file's name and the position of the first bad block.
Status ReadShard(FileSystem* files, const std::string& path,
                 ShardVisitor* visitor, ShardProgress* progress);

// Reads only the header of the file at `path`.
Result<ShardHeader> ReadShardHeader(FileSystem* files, const std::string& path);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_SHARD_FILE_H_
