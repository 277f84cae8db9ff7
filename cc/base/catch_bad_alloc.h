// CatchBadAlloc: converts an out-of-memory exception to a Status, because no
// exception may cross a module's boundary.

#ifndef PERSIA_CC_BASE_CATCH_BAD_ALLOC_H_
#define PERSIA_CC_BASE_CATCH_BAD_ALLOC_H_

#include <new>

#include "cc/base/memory_meter.h"
#include "cc/base/status.h"

namespace persia {

// Calls `work` and returns its Status or Result. If an allocation failed or a
// MemoryMeter's limit was reached, returns kResourceExhausted instead.
template <typename Work>
auto CatchBadAlloc(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const MemoryLimitReached& reached) {
    return Status(
        Code::kResourceExhausted,
        Concat(reached.owner(), reached.owner().empty() ? "" : ": ",
               "the memory limit of ", reached.limit(),
               " bytes leaves no room for more rows, since ", reached.used(),
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
