// A tensor of one number, with a callback for when TensorFlow frees it.

#ifndef PERSIA_CC_OPS_NUMBER_TENSOR_H_
#define PERSIA_CC_OPS_NUMBER_TENSOR_H_

#include <cstdint>
#include <functional>

#include "cc/ops/kernel_util.h"

namespace persia {

// A scalar int64. `on_free` runs once, on any thread, when the last reference
// to its memory is released. Ops that output the tensor unchanged share that
// memory.
TfTensor NewNumberTensor(int64_t number, std::function<void()> on_free);

}  // namespace persia

#endif  // PERSIA_CC_OPS_NUMBER_TENSOR_H_
