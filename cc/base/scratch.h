// Scratch: memory that a thread keeps from call to call, so that steady work
// allocates nothing; and gives back when its calls need far less than they did.
//
// Large memory comes from the system and goes back there: an allocator might
// keep it. Not thread-safe. Throws std::bad_alloc, and is then empty.

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
  // As many calls are looked back on, at least. A large one among so many small
  // ones pays for its memory anew, which is little beside its work.
  static constexpr size_t kCalls = 256;
  // What it keeps for ever.
  static constexpr size_t kKeptBytes = size_t{64} << 10;

  Scratch() = default;
  ~Scratch() { Release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Room for `size`, until the next call. What is in it is undefined.
  T* Get(size_t size) {
    most_ = std::max(most_, size);
    if (++calls_ == kCalls) Trim();
    if (size > capacity_) Take(std::max(size, capacity_ + capacity_ / 2));
    return values_;
  }

  size_t bytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr size_t kLargeBytes = size_t{1} << 20;
  // Half as much again may be there as was asked for, so twice is not far more.
  static constexpr size_t kFar = 4;

  void Trim() {
    if (bytes() > kKeptBytes && capacity_ > kFar * most_) Release();
    calls_ = 0;
    most_ = 0;
  }

  void Take(size_t capacity) {
    Release();  // Before, not after: never both at once.
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
  size_t calls_ = 0;  // Since the last Trim, as is the next.
  size_t most_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_SCRATCH_H_
