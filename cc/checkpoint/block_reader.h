// BlockReader: reads a file of blocks in order, and validates all of it.
//
// Blocks for as long as the device takes. Not thread-safe.

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

  // Reads the next block, whose body stays valid until the next call. kDataLoss
  // if there is no complete, intact block; kResourceExhausted if there is no
  // memory for it.
  Status Next(BlockType* type, ConstBytes* body);

  // Whether the file ends here.
  Result<bool> AtEnd();

  // The offset of the last block.
  uint64_t position() const { return position_; }
  // Its length, once it was read.
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
