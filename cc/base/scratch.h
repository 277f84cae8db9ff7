// Scratch: memory that a thread retains between calls, so that a steady load
// causes no allocations. The memory is freed when recent calls needed much
// less.
//
// Large blocks are mapped and unmapped directly, because malloc might retain
// freed memory instead of returning it to the system. Not thread-safe. If an
// allocation fails, Get throws std::bad_alloc and leaves the Scratch empty.

#ifndef PERSIA_CC_BASE_SCRATCH_H_
#define PERSIA_CC_BASE_SCRATCH_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace persia {

template <typename T>
class Scratch {
  static_assert(std::is_trivial<T>::value, "nothing is constructed");

 public:
  // Memory is freed only if none of this many successive calls needed it. A
  // large call that occurs more rarely has to allocate its memory each time,
  // which is cheap compared to the call's other work.
  static constexpr size_t kCalls = 256;
  // A block of at most this size is retained until the Scratch is destroyed.
  static constexpr size_t kKeptBytes = size_t{64} << 10;

  Scratch() = default;
  ~Scratch() { Release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns room for `size` elements with undefined contents. The pointer is
  // valid until the next call of Get.
  T* Get(size_t size) {
    most_ = std::max(most_, size);
    if (++calls_ == kCalls) Trim();
    if (size > capacity_) Take(std::max(size, capacity_ + capacity_ / 2));
    return values_;
  }

  size_t bytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr size_t kLargeBytes = size_t{1} << 20;
  // Trim frees the memory if its capacity exceeds the recently needed size by
  // this factor. Growth may allocate 1.5 times the needed size, so a factor of
  // 2 would be too close.
  static constexpr size_t kFar = 4;

  void Trim() {
    if (bytes() > kKeptBytes && capacity_ > kFar * most_) Release();
    calls_ = 0;
    most_ = 0;
  }

  void Take(size_t capacity) {
    // Frees the old block before the new one is allocated, to limit peak
    // memory.
    Release();
    if (capacity > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = capacity * sizeof(T);
    void* memory = nullptr;
    if (bytes < kLargeBytes) {
      memory = std::malloc(bytes);
    } else {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) memory = nullptr;
    }
    if (memory == nullptr) throw std::bad_alloc();
    values_ = static_cast<T*>(memory);
    capacity_ = capacity;
  }

  void Release() {
    if (bytes() < kLargeBytes) {
      std::free(values_);
    } else {
      munmap(values_, bytes());
    }
    values_ = nullptr;
    capacity_ = 0;
  }

  T* values_ = nullptr;
  size_t capacity_ = 0;
  size_t calls_ = 0;  // The number of calls of Get since the last Trim.
  size_t most_ = 0;   // The largest size that Get received since the last Trim.
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_SCRATCH_H_
