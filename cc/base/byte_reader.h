// ByteReader: parses what a ByteWriter wrote. The bytes may come from an
// untrusted peer or file, so every read is checked against the number of bytes.
//
// Not thread-safe.

#ifndef PERSIA_CC_BASE_BYTE_READER_H_
#define PERSIA_CC_BASE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cc/base/byte_writer.h"
#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Reads the fields of a body (the serialized bytes of one message or file
// block) in order. A read past the last byte returns zeros or an empty view and
// makes the reader fail permanently, so callers need to check only once, after
// all reads.
class ByteReader {
 public:
  explicit ByteReader(ConstBytes body) : body_(body) {}

  uint32_t U32() { return Number<uint32_t>(); }
  uint64_t U64() { return Number<uint64_t>(); }
  float F32() { return Number<float>(); }
  std::string Text();
  // Reads a reserved field, which must be 0.
  void Zero32() { failed_ |= U32() != 0; }
  bool Bool32();  // Reads a bool; fails unless it is 0 or 1.

  // Returns a view of the body's next `count` elements. `count` may be an
  // unchecked number from the same body: a count that exceeds the body's size
  // makes the reader fail.
  template <typename T>
  Span<const T> Array(uint64_t count) {
    if (!Has(count, sizeof(T))) return {};
    const auto* first = reinterpret_cast<const T*>(body_.data() + position_);
    position_ += count * sizeof(T);
    return Span<const T>(first, count);
  }

  // Like Array, for elements of `each` bytes. `each` must not be 0.
  ConstBytes Elements(uint64_t count, size_t each) {
    if (!Has(count, each)) return {};
    return Array<uint8_t>(count * each);
  }

  // Skips zero bytes until the position is a multiple of 8 bytes from the
  // body's start.
  void SkipPadding();

  // Reads the number of records that follow, each of at least `record_bytes`
  // bytes. If the rest of the body is too short for that many records, returns
  // 0 and makes the reader fail, so callers can safely reserve memory for the
  // returned number.
  uint32_t Count(size_t record_bytes);

  bool failed() const { return failed_; }

  // Returns OK if every read succeeded and no bytes of the body remain,
  // otherwise kDataLoss. The error message names the body's kind as `what`
  // followed by `suffix`.
  Status Finish(std::string_view what, std::string_view suffix = "") const;

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

#endif  // PERSIA_CC_BASE_BYTE_READER_H_
