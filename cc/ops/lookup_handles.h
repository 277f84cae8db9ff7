// Handles: how one op hands a lookup to another, as a number in a tensor.
//
// A handle lives exactly as long as its tensor's memory, so a lookup that no op
// fetches, because its rows are not needed or the step was cancelled, is let go
// with the tensor. Thread-safe.

#ifndef PERSIA_CC_OPS_LOOKUP_HANDLES_H_
#define PERSIA_CC_OPS_LOOKUP_HANDLES_H_

#include <cstdint>
#include <memory>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "cc/pipeline/session.h"

namespace persia {

// All stay alive while the handle does.
struct LookupHandle {
  std::shared_ptr<Session> session;
  std::shared_ptr<LayerLookup> lookup;
  Ticket ticket = 0;  // For its gradients.
};

// A scalar int64 that is the handle's number. Never null.
TfTensor NewHandle(LookupHandle handle);

// kFailedPrecondition if its tensor is gone, or it never was a handle.
Result<LookupHandle> FindHandle(int64_t number);

}  // namespace persia

#endif  // PERSIA_CC_OPS_LOOKUP_HANDLES_H_
