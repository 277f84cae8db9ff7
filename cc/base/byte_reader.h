// ByteReader: reads what a ByteWriter wrote, from untrusted bytes.
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

// Reads a body front to back. A read beyond its end returns zeros or an empty
// view and makes the reader fail permanently, so that callers check once, at
// the end.
class ByteReader {
 public:
  explicit ByteReader(ConstBytes body) : body_(body) {}

  uint32_t U32() { return Number<uint32_t>(); }
  uint64_t U64() { return Number<uint64_t>(); }
  float F32() { return Number<float>(); }
  std::string Text();
  void Zero32() { failed_ |= U32() != 0; }  // A reserved field: must be 0.
  bool Bool32();                            // Must be 0 or 1.

  // A view of the body. `count` may come from the bytes unchecked: one that is
  // too large fails the reader.
  template <typename T>
  Span<const T> Array(uint64_t count) {
    if (!Has(count, sizeof(T))) return {};
    const auto* first = reinterpret_cast<const T*>(body_.data() + position_);
    position_ += count * sizeof(T);
    return Span<const T>(first, count);
  }

  // Skips zeros up to a multiple of 8 bytes from the body's start.
  void SkipPadding();

  // The number of records that follow, each of at least `record_bytes`. If the
  // body is too short for that many, returns 0 and fails the reader; so it is
  // safe to reserve memory for the returned number.
  uint32_t Count(size_t record_bytes);

  bool failed() const { return failed_; }

  // kDataLoss, with `what` in the message, unless every read succeeded and the
  // body ends here.
  Status Finish(std::string_view what) const;

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
