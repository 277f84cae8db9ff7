#include "cc/base/byte_reader.h"

namespace persia {

bool ByteReader::Has(uint64_t count, size_t each) {
  failed_ |= count > (body_.size() - position_) / each;
  return !failed_;
}

bool ByteReader::Bool32() {
  const uint32_t value = U32();
  failed_ |= value > 1;
  return value == 1;
}

std::string ByteReader::Text() {
  const uint32_t size = U32();
  const Span<const char> text = Array<char>(size);
  SkipPadding();
  return std::string(text.data(), text.size());
}

void ByteReader::SkipPadding() {
  for (const uint8_t byte :
       Array<uint8_t>(ByteWriter::PaddingAt(position_).size())) {
    failed_ |= byte != 0;
  }
}

uint32_t ByteReader::Count(size_t record_bytes) {
  const uint32_t count = U32();
  return Has(count, record_bytes) ? count : 0;
}

Status ByteReader::Finish(std::string_view what,
                          std::string_view suffix) const {
  if (!failed_ && position_ == body_.size()) return Status();
  return Status(
      Code::kDataLoss,
      Concat("a body of ", body_.size(), " bytes is not a valid ", what, suffix,
             failed_ ? ": it is too short or malformed"
                     : ": bytes follow its end"));
}

}  // namespace persia
