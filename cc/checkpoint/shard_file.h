// A shard's file of a checkpoint: writing and reading it. See block.h for its
// format.
//
// WriteShard and the readers block for as long as the device takes.

#ifndef PERSIA_CC_CHECKPOINT_SHARD_FILE_H_
#define PERSIA_CC_CHECKPOINT_SHARD_FILE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/client_window.h"
#include "cc/files/file_system.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

struct ShardHeader {
  uint64_t save_id = 0;
  uint64_t parent_id = 0;  // Of the save that it builds on; 0: it is whole.
  uint32_t shard_index = 0;
  uint32_t shard_count = 1;
};

// The progress of a save or a restore. Thread-safe.
struct ShardProgress {
  std::atomic<uint64_t> rows{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> cancelled{false};  // Set it to stop soon, with kCancelled.
};

// What precedes a table's rows in a file.
struct TableHead {
  TableConfig config;
  RowLayout layout{};
  uint32_t time = 0;  // When it was frozen: see Table::time.
  SaveScope scope = SaveScope::kWhole;
};

struct SavedTable {
  TableHead head;
  FrozenRows* rows;
};

// Writes the file at `path` and makes it durable. After an error, whatever is
// at `path` is unusable.
Status WriteShard(FileSystem* files, const std::string& path,
                  const ShardHeader& header,
                  const std::vector<SavedTable>& tables,
                  const std::vector<ClientWindow>& clients,
                  ShardProgress* progress);

// Receives what a file holds, in order. An error ends the reading.
class ShardVisitor {
 public:
  virtual ~ShardVisitor() = default;
  virtual Status OnHeader(const ShardHeader& header) = 0;
  // The config is valid; the layout is that of LayoutOf.
  virtual Status OnTable(const TableHead& table) = 0;
  // For the last table; the spans are valid only during the call.
  virtual Status OnErased(Span<const int64_t> ids) = 0;
  virtual Status OnRows(Span<const int64_t> ids,
                        Span<const std::byte> rows) = 0;
  virtual Status OnClients(const std::vector<ClientWindow>& clients) = 0;
};

// Reads the whole file. kDataLoss, naming the file and the place, if it is not
// exactly what WriteShard wrote.
Status ReadShard(FileSystem* files, const std::string& path,
                 ShardVisitor* visitor, ShardProgress* progress);

// Reads only the header.
Result<ShardHeader> ReadShardHeader(FileSystem* files, const std::string& path);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_SHARD_FILE_H_
