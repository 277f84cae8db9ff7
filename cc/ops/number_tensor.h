// Creates a tensor of one number, with a callback for when TensorFlow frees the
// tensor.

#ifndef PERSIA_CC_OPS_NUMBER_TENSOR_H_
#define PERSIA_CC_OPS_NUMBER_TENSOR_H_

#include <cstdint>
#include <functional>

#include "cc/ops/kernel_util.h"

namespace persia {

// Creates a scalar int64 tensor. `on_free` runs once, on any thread, when the
// last reference to the tensor's memory is released. Ops that output the tensor
// unchanged share its memory.
TfTensor NewNumberTensor(int64_t number, std::function<void()> on_free);

}  // namespace persia

#endif  // PERSIA_CC_OPS_NUMBER_TENSOR_H_
