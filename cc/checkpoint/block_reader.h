// BlockReader: reads a file of blocks front to back, and trusts none of it.
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

  // The next block, whose body stays valid until the next call. kDataLoss if
  // there is no whole and right block;
  // kResourceExhausted if there is no memory for it.
  Status Next(BlockType* type, ConstBytes* body);

  // Whether the file ends here.
  Result<bool> AtEnd();

  // Where the last block began.
  uint64_t position() const { return position_; }
  // Its bytes, once it was read.
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
