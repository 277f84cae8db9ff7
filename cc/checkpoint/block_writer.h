// BlockWriter: writes the blocks of a checkpoint file, one after another.
//
// Calls wait for the storage device, without a time limit. Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_BLOCK_WRITER_H_
#define PERSIA_CC_CHECKPOINT_BLOCK_WRITER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/block.h"
#include "cc/files/file_system.h"

namespace persia {

class BlockWriter {
 public:
  explicit BlockWriter(std::unique_ptr<WritableFile> file)
      : file_(std::move(file)) {}

  // Writes a block whose body is the concatenation of `parts`.
  Status Write(BlockType type, std::initializer_list<ConstBytes> parts);

  // Closes the file after making it durable.
  Status Close();

  uint64_t bytes() const { return bytes_; }

 private:
  const std::unique_ptr<WritableFile> file_;
  uint64_t bytes_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_BLOCK_WRITER_H_
