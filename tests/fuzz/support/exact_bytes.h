// ExactBytes: bytes at an address that decoders can point into, with nothing
// behind them, so that a sanitizer finds a read beyond the end.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_EXACT_BYTES_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_EXACT_BYTES_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cc/base/span.h"

namespace persia {

class ExactBytes {
 public:
  explicit ExactBytes(Span<const uint8_t> bytes)
      : memory_(static_cast<uint8_t*>(std::malloc(bytes.size()))),
        size_(bytes.size()) {
    if (size_ > 0) std::memcpy(memory_.get(), bytes.data(), size_);
  }

  Span<const uint8_t> bytes() const {
    return Span<const uint8_t>(memory_.get(), size_);
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  const std::unique_ptr<uint8_t, Free> memory_;  // Aligned for any type.
  const size_t size_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_EXACT_BYTES_H_
