// Writer and Reader: little-endian numbers, texts and arrays in a body.
//
// Not thread-safe.

#ifndef PERSIA_CC_WIRE_BYTE_IO_H_
#define PERSIA_CC_WIRE_BYTE_IO_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cc/base/span.h"
#include "cc/wire/frame.h"

namespace persia {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "bodies are read and written where they lie");

// Builds a frame: numbers and texts are copied to its head, arrays stay where
// they are. The body's alignment is kept by zero padding.
class Writer {
 public:
  Writer() : frame_{std::vector<uint8_t>(kFrameHeaderBytes), {}} {}

  void U32(uint32_t value) { Copy(&value, sizeof(value)); }
  void U64(uint64_t value) { Copy(&value, sizeof(value)); }
  void F32(float value) { Copy(&value, sizeof(value)); }
  void Text(std::string_view text);
  void Bytes(ConstBytes bytes) { Copy(bytes.data(), bytes.size()); }

  // Refers to the array. Nothing is copied to the head after the first.
  template <typename T>
  void Array(Span<T> values) {
    Refer(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  }

  void PadArrays();  // To a multiple of 8 from the body's start.

  // The finished frame; the writer is then empty.
  OutFrame Seal(MessageType type, uint64_t request_id);

 private:
  void Copy(const void* bytes, size_t size);
  void Refer(const uint8_t* bytes, size_t size);

  OutFrame frame_;
  size_t payload_bytes_ = 0;
};

// Reads a body front to back. A read beyond its end gives zeros or an empty
// view and fails the reader for good, so that callers check once, at the end.
class Reader {
 public:
  explicit Reader(ConstBytes body) : body_(body) {}

  uint32_t U32() { return Number<uint32_t>(); }
  uint64_t U64() { return Number<uint64_t>(); }
  float F32() { return Number<float>(); }
  std::string Text();
  void Zero32() { failed_ |= U32() != 0; }  // A field without meaning yet.
  bool Bool32();                            // 0 or 1.

  // Points into the body. `count` may be any number.
  template <typename T>
  Span<const T> Array(uint64_t count) {
    if (!Has(count, sizeof(T))) return {};
    const auto* first = reinterpret_cast<const T*>(body_.data() + position_);
    position_ += count * sizeof(T);
    return Span<const T>(first, count);
  }

  void SkipPadding();  // To a multiple of 8 from the body's start.

  // The number of records that follow, each of at least `record_bytes`; 0, and
  // the reader fails, if the body is too short for so many. So memory for them
  // can be reserved.
  uint32_t Count(size_t record_bytes);

  bool failed() const { return failed_; }

  // kDataLoss, naming the message, unless all went well and the body ends
  // here.
  Status Finish(std::string_view message) const;

 private:
  template <typename T>
  T Number() {
    T value{};
    if (Has(1, sizeof(T))) {
      std::memcpy(&value, body_.data() + position_, sizeof(T));
      position_ += sizeof(T);
    }
    return value;
  }

  bool Has(uint64_t count, size_t each);

  const ConstBytes body_;
  size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_BYTE_IO_H_
