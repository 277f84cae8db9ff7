// What tests of the wire need: a frame's bytes in one piece, and as text.

#ifndef PERSIA_TESTS_CC_WIRE_FRAME_BYTES_H_
#define PERSIA_TESTS_CC_WIRE_FRAME_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/wire/frame.h"

namespace persia {

inline std::vector<uint8_t> FrameBytes(const OutFrame& frame) {
  std::vector<uint8_t> bytes = frame.head;
  for (const ConstBytes part : frame.payload) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

inline std::string Hex(ConstBytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 8 == 0) text += '\n';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// A body at an address that a decoder can point into.
class Body {
 public:
  explicit Body(const OutFrame& frame) : Body(FrameBytes(frame), true) {}
  explicit Body(const std::vector<uint8_t>& bytes) : Body(bytes, false) {}

  ConstBytes bytes() const {
    return ConstBytes(reinterpret_cast<const uint8_t*>(words_.data()), size_);
  }
  std::vector<uint8_t> copy() const {
    return std::vector<uint8_t>(bytes().begin(), bytes().end());
  }

 private:
  Body(const std::vector<uint8_t>& bytes, bool has_header) {
    const size_t skip = has_header ? kFrameHeaderBytes : 0;
    size_ = bytes.size() - skip;
    words_.resize(size_ / 8 + 1);
    if (size_ > 0) std::memcpy(words_.data(), bytes.data() + skip, size_);
  }

  std::vector<uint64_t> words_;
  size_t size_ = 0;
};

template <typename T>
std::vector<T> Copy(Span<const T> values) {
  return std::vector<T>(values.begin(), values.end());
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_WIRE_FRAME_BYTES_H_
