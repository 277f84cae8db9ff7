// No exception crosses a module's boundary: running out of memory becomes a
// Status.

#ifndef PERSIA_CC_BASE_CATCH_BAD_ALLOC_H_
#define PERSIA_CC_BASE_CATCH_BAD_ALLOC_H_

#include <new>

#include "cc/base/memory_meter.h"
#include "cc/base/status.h"

namespace persia {

// Returns what `work` returns (a Status or a Result), or kResourceExhausted if
// an allocation failed or a MemoryMeter's limit was reached.
template <typename Work>
auto CatchBadAlloc(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const MemoryLimitReached& reached) {
    return Status(
        Code::kResourceExhausted,
        Concat(reached.owner(), reached.owner().empty() ? "" : ": ",
               "the memory limit of ", reached.limit(),
               " bytes leaves no room for more rows, ", reached.used(),
               " are in use: raise --memory-limit, spread rows over more "
               "shards, or give tables a capacity and an eviction"));
  } catch (const std::bad_alloc&) {
    return Status(
        Code::kResourceExhausted,
        "out of memory: give this process more, make batches smaller, or "
        "spread rows over more shards");
  }
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_CATCH_BAD_ALLOC_H_
