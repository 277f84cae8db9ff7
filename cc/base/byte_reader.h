// ByteReader: reads what a ByteWriter wrote, from bytes that nobody vouches
// for.
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

// Reads a body front to back. A read beyond its end gives zeros or an empty
// view and fails the reader for good, so that callers check once, at the end.
class ByteReader {
 public:
  explicit ByteReader(ConstBytes body) : body_(body) {}

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

  // kDataLoss, naming what it is, unless all went well and the body ends
  // here.
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
