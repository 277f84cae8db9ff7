#include "cc/checkpoint/block_reader.h"

#include <array>
#include <string>

#include "cc/base/crc32c.h"

namespace persia {

Status BlockReader::Next(BlockType* type, ConstBytes* body) {
  position_ = next_;
  std::array<uint8_t, kBlockHeadBytes> bytes;
  auto got = file_->Read(bytes);
  if (!got.ok()) return got.status();
  if (*got < bytes.size()) return Lost("the file ends too early");
  BlockHead head;
  const Status status = DecodeBlockHead(bytes, &head);
  if (!status.ok()) return Lost(status.message());
  if (!body_.Resize(head.body_bytes)) {
    return Status(Code::kResourceExhausted, Concat("no memory for a block of ",
                                                   head.body_bytes, " bytes"));
  }
  got = file_->Read({body_.data(), body_.size()});
  if (!got.ok()) return got.status();
  if (*got < body_.size()) return Lost("the file ends too early");
  if (head.body_crc != Crc32c(body_.data(), body_.size())) {
    return Lost("its body does not match its checksum");
  }
  next_ += bytes.size() + body_.size();
  *type = head.type;
  *body = {body_.data(), body_.size()};
  return Status();
}

Result<bool> BlockReader::AtEnd() {
  std::array<uint8_t, 1> byte;
  auto got = file_->Read(byte);
  if (!got.ok()) return got.status();
  return *got == 0;
}

Status BlockReader::Lost(const std::string& why) const {
  return Status(Code::kDataLoss,
                Concat("the block is incomplete or damaged: ", why));
}

}  // namespace persia
