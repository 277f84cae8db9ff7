#include "cc/checkpoint/block.h"

#include <cstring>

#include "cc/base/byte_reader.h"
#include "cc/base/byte_writer.h"
#include "cc/base/crc32c.h"

namespace persia {
namespace {

constexpr size_t kCheckedBytes = kBlockHeadBytes - sizeof(uint32_t);

}  // namespace

void EncodeBlockHead(const BlockHead& head,
                     Span<uint8_t, kBlockHeadBytes> bytes) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(head.type));
  writer.U32(0);
  writer.U64(head.body_bytes);
  writer.U32(head.body_crc);
  const auto written = writer.Take();
  const uint32_t crc = Crc32c(written.data(), kCheckedBytes);
  std::memcpy(bytes.data(), written.data(), kCheckedBytes);
  std::memcpy(bytes.data() + kCheckedBytes, &crc, sizeof(crc));
}

Status DecodeBlockHead(Span<const uint8_t, kBlockHeadBytes> bytes,
                       BlockHead* head) {
  ByteReader reader(bytes);
  const uint32_t type = reader.U32();
  reader.Zero32();
  head->body_bytes = reader.U64();
  head->body_crc = reader.U32();
  const uint32_t crc = reader.U32();
  head->type = static_cast<BlockType>(type);
  if (crc != Crc32c(bytes.data(), kCheckedBytes)) {
    return Status(Code::kDataLoss, "its head does not match its checksum");
  }
  if (reader.failed() || type < static_cast<uint32_t>(BlockType::kFile) ||
      type > static_cast<uint32_t>(BlockType::kEnd)) {
    return Status(Code::kDataLoss, Concat("it has the unknown type ", type));
  }
  if (head->body_bytes > kMaxBlockBytes) {
    return Status(Code::kDataLoss,
                  Concat("its body of ", head->body_bytes,
                         " bytes is over the limit of ", kMaxBlockBytes));
  }
  return Status();
}

}  // namespace persia
