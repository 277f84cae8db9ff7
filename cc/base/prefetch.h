// Prefetch: asks the CPU to load the cache line at an address that will be used
// soon.

#ifndef PERSIA_CC_BASE_PREFETCH_H_
#define PERSIA_CC_BASE_PREFETCH_H_

namespace persia {

enum class For { kRead, kWrite };

template <For kUse = For::kRead>
inline void Prefetch(const void* address) {
  __builtin_prefetch(address, kUse == For::kWrite);
  // This empty statement is needed because GCC considers a function that only
  // prefetches to have no effect, and removes calls to it.
  asm volatile("");
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_PREFETCH_H_
