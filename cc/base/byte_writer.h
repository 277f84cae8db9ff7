// ByteWriter: serializes numbers, in little-endian order, and texts.
//
// A text is its length in 32 bits, its bytes, and zeros up to a multiple of 8
// bytes from the body's start. Not thread-safe.

#ifndef PERSIA_CC_BASE_BYTE_WRITER_H_
#define PERSIA_CC_BASE_BYTE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/base/span.h"

namespace persia {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "bodies are read and written where they lie");

class ByteWriter {
 public:
  // The alignment that texts and arrays are padded to.
  static constexpr size_t kAlignment = 8;

  // The zeros that pad `position` in a body to a multiple of kAlignment.
  static ConstBytes PaddingAt(size_t position);

  // Reserves `before` bytes in front of the body.
  explicit ByteWriter(size_t before = 0) : before_(before), bytes_(before) {}

  void U32(uint32_t value) { Copy(&value, sizeof(value)); }
  void U64(uint64_t value) { Copy(&value, sizeof(value)); }
  void F32(float value) { Copy(&value, sizeof(value)); }
  void Text(std::string_view text);
  void Copy(const void* bytes, size_t size);

  // The body's size.
  size_t size() const { return bytes_.size() - before_; }

  // The reserved bytes and the body; the writer is then empty.
  std::vector<uint8_t> Take() {
    return std::exchange(bytes_, std::vector<uint8_t>(before_));
  }

 private:
  size_t before_;
  std::vector<uint8_t> bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_BYTE_WRITER_H_
