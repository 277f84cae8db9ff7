#include "cc/checkpoint/block_writer.h"

#include <array>

#include "cc/base/crc32c.h"
#include "cc/base/text.h"

namespace persia {

Status BlockWriter::Write(BlockType type,
                          std::initializer_list<ConstBytes> parts) {
  BlockHead head;
  head.type = type;
  for (const ConstBytes part : parts) {
    head.body_bytes += part.size();
    head.body_crc = ExtendCrc32c(head.body_crc, part.data(), part.size());
  }
  if (head.body_bytes > kMaxBlockBytes) {
    return Status(
        Code::kInternal,
        Concat(
            "a block must have at most ", kMaxBlockBytes,
            " bytes, since a larger block could not be read again, received ",
            head.body_bytes));
  }
  std::array<uint8_t, kBlockHeadBytes> bytes;
  EncodeBlockHead(head, bytes);
  PERSIA_RETURN_IF_ERROR(file_->Append(bytes));
  for (const ConstBytes part : parts) {
    PERSIA_RETURN_IF_ERROR(file_->Append(part));
  }
  bytes_ += bytes.size() + head.body_bytes;
  return Status();
}

Status BlockWriter::Close() { return file_->Finish(); }

}  // namespace persia
