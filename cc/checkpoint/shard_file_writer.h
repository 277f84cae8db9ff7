// ShardFileWriter: writes one shard's file of a checkpoint, block by block. See
// block.h for the file's format.
//
// Calls wait for the storage device, without a time limit. Not thread-safe. If
// a call fails, the file is incomplete and must not be used.

#ifndef PERSIA_CC_CHECKPOINT_SHARD_FILE_WRITER_H_
#define PERSIA_CC_CHECKPOINT_SHARD_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/block_writer.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/file_system.h"

namespace persia {

class ShardFileWriter {
 public:
  // Call the methods in the order of the grammar in block.h. `progress` counts
  // the rows and bytes written.
  ShardFileWriter(std::unique_ptr<WritableFile> file, ShardProgress* progress)
      : blocks_(std::move(file)), progress_(*progress) {}

  Status Begin(const ShardHeader& header);
  Status AddTable(const TableHead& table);
  // AddErased and AddRows refer to the table of the last AddTable.
  Status AddErased(Span<const int64_t> ids);
  Status AddRows(Span<const int64_t> ids, Span<const std::byte> rows);
  // Writes the last blocks, makes the file durable and closes it.
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
