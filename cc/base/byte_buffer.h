// ByteBuffer: a reusable, uninitialized buffer, aligned to a cache line.
//
// The buffer retains its memory when its size shrinks, because page faults on
// fresh memory cost more than filling it. Not thread-safe.

#ifndef PERSIA_CC_BASE_BYTE_BUFFER_H_
#define PERSIA_CC_BASE_BYTE_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cc/base/span.h"

namespace persia {

class ByteBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  // Sets the buffer's size; its contents are undefined afterwards. If the
  // allocation fails, returns false and the size is 0.
  [[nodiscard]] bool Resize(size_t size) {
    size_ = 0;
    if (size > capacity_ && !Allocate(size)) return false;
    size_ = size;
    return true;
  }

  // Grows the buffer to `size`, which must be at least the present size, and
  // preserves its contents. If the allocation fails, returns false and changes
  // nothing.
  [[nodiscard]] bool Grow(size_t size) {
    if (size > capacity_) {
      ByteBuffer larger;
      if (!larger.Allocate(size)) return false;
      std::copy_n(data(), size_, larger.data());
      *this = std::move(larger);
    }
    size_ = size;
    return true;
  }

  // Frees the memory, which discards the contents, if the buffer's capacity
  // exceeds `capacity`.
  void Trim(size_t capacity) {
    if (capacity_ <= capacity) return;
    bytes_.reset();
    size_ = 0;
    capacity_ = 0;
  }

  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  // The largest size to which the buffer can grow without an allocation.
  size_t capacity() const { return capacity_; }

  // Returns a view of the first `count` elements of the buffer, as type T.
  // Precondition: the buffer's size covers these elements.
  template <typename T>
  Span<T> As(size_t count) {
    return Span<T>(reinterpret_cast<T*>(bytes_.get()), count);
  }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };

  bool Allocate(size_t size) {
    if (size > SIZE_MAX / 2) return false;
    // The capacity grows to at least 1.5 times its old value, so that a slowly
    // growing size does not cause an allocation on every call.
    const size_t wanted = std::max(size, capacity_ + capacity_ / 2);
    const size_t rounded = (wanted + kAlignment - 1) / kAlignment * kAlignment;
    // Frees the old block before the new one is allocated, to limit peak
    // memory.
    bytes_.reset();
    capacity_ = 0;
    auto* bytes =
        static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded));
    if (bytes == nullptr) return false;
    bytes_.reset(bytes);
    capacity_ = rounded;
    return true;
  }

  std::unique_ptr<uint8_t, Free> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_BYTE_BUFFER_H_
