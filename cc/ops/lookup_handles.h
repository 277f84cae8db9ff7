// Handles: numbers in tensors, by which one op passes lookups to another op.
//
// A handle lives exactly as long as its tensor's memory. So if no op fetches
// the lookups, because their rows are not needed or the step was cancelled,
// they are released with the tensor. All functions are thread-safe.

#ifndef PERSIA_CC_OPS_LOOKUP_HANDLES_H_
#define PERSIA_CC_OPS_LOOKUP_HANDLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "cc/pipeline/session.h"

namespace persia {

// A handle keeps its session and its lookups, one per layer, alive.
struct LookupHandle {
  std::shared_ptr<Session> session;
  std::vector<Issued> lookups;
};

// Creates a handle. Returns the handle's number as a scalar int64 tensor; the
// result is never null.
TfTensor NewHandle(LookupHandle handle);

// Returns the handle with this number. Returns kFailedPrecondition if the
// handle's tensor has been freed, or if there never was such a handle.
Result<LookupHandle> FindHandle(int64_t number);

}  // namespace persia

#endif  // PERSIA_CC_OPS_LOOKUP_HANDLES_H_
