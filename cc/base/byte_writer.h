// ByteWriter: little-endian numbers and texts, one after the other.
//
// A text is its length, 32 bits, its bytes, and zeros to a multiple of 8 from
// where the body begins. Not thread-safe.

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

  // Zeros that take a position in a body to the next multiple of kAlignment.
  static ConstBytes PaddingAt(size_t position);

  // Leaves `before` bytes free in front of the body.
  explicit ByteWriter(size_t before = 0) : before_(before), bytes_(before) {}

  void U32(uint32_t value) { Copy(&value, sizeof(value)); }
  void U64(uint64_t value) { Copy(&value, sizeof(value)); }
  void F32(float value) { Copy(&value, sizeof(value)); }
  void Text(std::string_view text);
  void Copy(const void* bytes, size_t size);

  // Of the body.
  size_t size() const { return bytes_.size() - before_; }

  // What was written, and the free bytes in front; the writer is then empty.
  std::vector<uint8_t> Take() {
    return std::exchange(bytes_, std::vector<uint8_t>(before_));
  }

 private:
  size_t before_;
  std::vector<uint8_t> bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_BYTE_WRITER_H_
