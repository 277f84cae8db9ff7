#include "cc/wire/byte_io.h"

#include <utility>

namespace persia {
namespace {

constexpr size_t kAlignment = 8;
constexpr uint8_t kZeros[kAlignment] = {};

size_t PaddingAt(size_t position) {
  return (kAlignment - position % kAlignment) % kAlignment;
}

}  // namespace

void Writer::Copy(const void* bytes, size_t size) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  frame_.head.insert(frame_.head.end(), first, first + size);
}

void Writer::Text(std::string_view text) {
  U32(static_cast<uint32_t>(text.size()));
  Copy(text.data(), text.size());
  Copy(kZeros, PaddingAt(frame_.head.size() - kFrameHeaderBytes));
}

void Writer::Refer(const uint8_t* bytes, size_t size) {
  if (size == 0) return;
  payload_bytes_ += size;
  std::vector<ConstBytes>& payload = frame_.payload;
  // Neighbours become one part: fewer to hand to the kernel.
  if (!payload.empty() && payload.back().end() == bytes) {
    payload.back() =
        ConstBytes(payload.back().data(), payload.back().size() + size);
  } else {
    payload.emplace_back(bytes, size);
  }
}

void Writer::PadArrays() {
  const size_t body = frame_.head.size() - kFrameHeaderBytes + payload_bytes_;
  Refer(kZeros, PaddingAt(body));
}

OutFrame Writer::Seal(MessageType type, uint64_t request_id) {
  SealFrame(type, request_id, &frame_);
  payload_bytes_ = 0;
  return std::exchange(frame_,
                       OutFrame{std::vector<uint8_t>(kFrameHeaderBytes), {}});
}

bool Reader::Has(uint64_t count, size_t each) {
  failed_ |= count > (body_.size() - position_) / each;
  return !failed_;
}

bool Reader::Bool32() {
  const uint32_t value = U32();
  failed_ |= value > 1;
  return value == 1;
}

std::string Reader::Text() {
  const uint32_t size = U32();
  const Span<const char> text = Array<char>(size);
  SkipPadding();
  return std::string(text.data(), text.size());
}

void Reader::SkipPadding() {
  for (const uint8_t byte : Array<uint8_t>(PaddingAt(position_))) {
    failed_ |= byte != 0;
  }
}

uint32_t Reader::Count(size_t record_bytes) {
  const uint32_t count = U32();
  return Has(count, record_bytes) ? count : 0;
}

Status Reader::Finish(std::string_view message) const {
  if (!failed_ && position_ == body_.size()) return Status();
  return Status(Code::kDataLoss,
                Concat("a body of ", body_.size(), " bytes is no ", message,
                       failed_ ? " message: it is too short or malformed"
                               : " message: bytes follow its end"));
}

}  // namespace persia
