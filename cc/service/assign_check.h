// CheckAssignSizes: the check of an AssignRequest that every service makes
// before it reads the request's arrays.

#ifndef PERSIA_CC_SERVICE_ASSIGN_CHECK_H_
#define PERSIA_CC_SERVICE_ASSIGN_CHECK_H_

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Returns InvalidArgument unless the sizes of weights and state match the ids.
inline Status CheckAssignSizes(const AssignRequest& request) {
  const size_t count = request.ids.size();
  if (request.weights.size() != count * request.dim) {
    return InvalidArgument("weights must have ", count, " x ", request.dim,
                           " floats, received ", request.weights.size());
  }
  if (request.state.size() != count * request.state_size) {
    return InvalidArgument("state must have ", count, " x ", request.state_size,
                           " floats, received ", request.state.size());
  }
  return Status();
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ASSIGN_CHECK_H_
