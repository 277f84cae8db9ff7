// ByteWriter: serializes numbers, in little-endian order, and texts.
//
// A text is serialized as its length in 32 bits, its bytes, and zeros that pad
// it to a multiple of 8 bytes from the body's start. Not thread-safe.

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
  // Texts and arrays are padded to a multiple of this many bytes.
  static constexpr size_t kAlignment = 8;

  // Returns the zeros to append at `position` of a body, so that the next
  // position is a multiple of kAlignment.
  static ConstBytes PaddingAt(size_t position);

  // Reserves `before` bytes in front of the body, where the caller puts a
  // header.
  explicit ByteWriter(size_t before = 0) : before_(before), bytes_(before) {}

  void U32(uint32_t value) { Copy(&value, sizeof(value)); }
  void U64(uint64_t value) { Copy(&value, sizeof(value)); }
  void F32(float value) { Copy(&value, sizeof(value)); }
  void Text(std::string_view text);
  void Copy(const void* bytes, size_t size);

  // Appends `size` zeros, and returns their place, which is valid until more is
  // written.
  uint8_t* Zeros(size_t size);

  // The body's size, without the bytes reserved in front of it.
  size_t size() const { return bytes_.size() - before_; }

  // Returns the reserved bytes followed by the body, and leaves the writer
  // empty.
  std::vector<uint8_t> Take() {
    return std::exchange(bytes_, std::vector<uint8_t>(before_));
  }

 private:
  size_t before_;
  std::vector<uint8_t> bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_BYTE_WRITER_H_
