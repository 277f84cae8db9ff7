// Handles: how one op passes a lookup to another, as a number in a tensor.
//
// A handle lives exactly as long as its tensor's memory. So if no op fetches
// the lookup, because its rows are not needed or the step was cancelled, it is
// released with the tensor. Thread-safe.

#ifndef PERSIA_CC_OPS_LOOKUP_HANDLES_H_
#define PERSIA_CC_OPS_LOOKUP_HANDLES_H_

#include <cstdint>
#include <memory>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "cc/pipeline/session.h"

namespace persia {

// The session and the lookup stay alive while the handle does.
struct LookupHandle {
  std::shared_ptr<Session> session;
  std::shared_ptr<LayerLookup> lookup;
  Ticket ticket = 0;  // For its gradients.
};

// Creates a handle: a scalar int64 with its number. Never null.
TfTensor NewHandle(LookupHandle handle);

// kFailedPrecondition if the handle's tensor has been freed, or if there never
// was a handle of that number.
Result<LookupHandle> FindHandle(int64_t number);

}  // namespace persia

#endif  // PERSIA_CC_OPS_LOOKUP_HANDLES_H_
