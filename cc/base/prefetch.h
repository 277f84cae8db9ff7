// Prefetch: asks for a line of memory some time before it is used.

#ifndef PERSIA_CC_BASE_PREFETCH_H_
#define PERSIA_CC_BASE_PREFETCH_H_

namespace persia {

enum class For { kRead, kWrite };

template <For kUse = For::kRead>
inline void Prefetch(const void* address) {
  __builtin_prefetch(address, kUse == For::kWrite);
  // GCC takes a function that does nothing else for one without effect, and
  // drops calls of it.
  asm volatile("");
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_PREFETCH_H_
