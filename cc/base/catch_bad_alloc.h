// Nothing throws across this module's edge: memory that runs out is an error.

#ifndef PERSIA_CC_SERVICE_CATCH_BAD_ALLOC_H_
#define PERSIA_CC_SERVICE_CATCH_BAD_ALLOC_H_

#include <new>

#include "cc/base/status.h"

namespace persia {

// What `work` returns, or kResourceExhausted if its memory ran out.
template <typename Work>
Status CatchBadAlloc(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted,
                  "out of memory; add shards or give this process more");
  }
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CATCH_BAD_ALLOC_H_
