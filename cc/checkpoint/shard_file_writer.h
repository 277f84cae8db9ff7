// ShardFileWriter: writes a shard's file of a checkpoint, part by part. See
// block.h for its format.
//
// Blocks for as long as the device takes. Not thread-safe. After an error,
// whatever was written is unusable.

#ifndef PERSIA_CC_CHECKPOINT_SHARD_FILE_WRITER_H_
#define PERSIA_CC_CHECKPOINT_SHARD_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/block_writer.h"
#include "cc/checkpoint/client_window.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/file_system.h"

namespace persia {

class ShardFileWriter {
 public:
  // Write the parts in the order of the grammar; `progress` counts the rows.
  ShardFileWriter(std::unique_ptr<WritableFile> file, ShardProgress* progress)
      : blocks_(std::move(file)), progress_(*progress) {}

  Status Begin(const ShardHeader& header);
  Status AddTable(const TableHead& table);
  // For the last table.
  Status AddErased(Span<const int64_t> ids);
  Status AddRows(Span<const int64_t> ids, Span<const std::byte> rows);
  // Makes the file durable.
  Status Finish(const std::vector<ClientWindow>& clients);

 private:
  Status Put(BlockType type, const std::vector<uint8_t>& body) {
    return blocks_.Write(type, {body});
  }
  Status PutClients(const std::vector<ClientWindow>& clients);

  BlockWriter blocks_;
  ShardProgress& progress_;
  uint64_t rows_ = 0;
  uint64_t erased_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_SHARD_FILE_WRITER_H_
