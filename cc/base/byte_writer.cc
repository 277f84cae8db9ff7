#include "cc/base/byte_writer.h"

namespace persia {

ConstBytes ByteWriter::PaddingAt(size_t position) {
  static constexpr uint8_t kZeros[kAlignment] = {};
  return {kZeros, (kAlignment - position % kAlignment) % kAlignment};
}

void ByteWriter::Copy(const void* bytes, size_t size) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  bytes_.insert(bytes_.end(), first, first + size);
}

uint8_t* ByteWriter::Zeros(size_t size) {
  bytes_.resize(bytes_.size() + size);
  return bytes_.data() + bytes_.size() - size;
}

void ByteWriter::Text(std::string_view text) {
  U32(static_cast<uint32_t>(text.size()));
  Copy(text.data(), text.size());
  const ConstBytes padding = PaddingAt(size());
  Copy(padding.data(), padding.size());
}

}  // namespace persia
