// BlockReader: reads the blocks of a checkpoint file in order and verifies
// their checksums.
//
// Calls wait for the storage device, without a time limit. Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_BLOCK_READER_H_
#define PERSIA_CC_CHECKPOINT_BLOCK_READER_H_

#include <cstdint>
#include <memory>

#include "cc/base/byte_buffer.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/block.h"
#include "cc/files/file_system.h"

namespace persia {

class BlockReader {
 public:
  explicit BlockReader(std::unique_ptr<ReadableFile> file)
      : file_(std::move(file)) {}

  // Reads the next block. `body` stays valid until the next call. Returns
  // kDataLoss if no complete and intact block follows, and kResourceExhausted
  // if there is no memory for the block.
  Status Next(BlockType* type, ConstBytes* body);

  // Returns whether all bytes of the file were read.
  Result<bool> AtEnd();

  // The offset in the file of the block that was read last.
  uint64_t position() const { return position_; }
  // The length in bytes, including the head, of the block that was read last.
  uint64_t size() const { return next_ - position_; }

 private:
  Status Lost(const std::string& why) const;

  const std::unique_ptr<ReadableFile> file_;
  ByteBuffer body_;
  uint64_t position_ = 0;
  uint64_t next_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_BLOCK_READER_H_
