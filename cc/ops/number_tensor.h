// A number in a tensor that tells when TensorFlow lets go of it.

#ifndef PERSIA_CC_OPS_NUMBER_TENSOR_H_
#define PERSIA_CC_OPS_NUMBER_TENSOR_H_

#include <cstdint>
#include <functional>

#include "cc/ops/kernel_util.h"

namespace persia {

// A scalar int64. `on_free` runs once, on any thread, when the last user of its
// memory is gone: ops that pass the tensor on share that memory.
TfTensor NewNumberTensor(int64_t number, std::function<void()> on_free);

}  // namespace persia

#endif  // PERSIA_CC_OPS_NUMBER_TENSOR_H_
