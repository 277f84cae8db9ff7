// Helpers for op kernels: they read attributes and tensors and report errors
// through TensorFlow's C API.

#ifndef PERSIA_CC_OPS_KERNEL_UTIL_H_
#define PERSIA_CC_OPS_KERNEL_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

namespace persia {

using TfStatus = std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)>;
using TfTensor = std::unique_ptr<TF_Tensor, decltype(&TF_DeleteTensor)>;

TfStatus NewTfStatus();

// Converts a Status to a TF_Status; both use the same codes.
void SetTfStatus(const Status& status, TF_Status* out);

// Reports `status` as the op's error. The kernel must then complete as usual.
void FailOp(TF_OpKernelContext* context, const Status& status);

// Runs the work of a kernel. If the work returns an error, or memory runs out,
// the op fails with that error.
template <typename Work>
void RunKernel(TF_OpKernelContext* context, const Work& work) {
  const Status status = CatchBadAlloc(work);
  if (!status.ok()) FailOp(context, status);
}

// Reads an attribute of the op. Returns kInvalidArgument if the attribute is
// missing.
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::string* value);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               int32_t* value);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               int64_t* value);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               float* value);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               bool* value);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<std::string>* values);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<int32_t>* values);
Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<bool>* values);

// Returns input `index` of the op. While the caller holds the tensor, its
// memory stays alive and unchanged.
Result<TfTensor> GetInput(TF_OpKernelContext* context, int index);

// Allocates output `index`, which the kernel must fill before the op completes.
Result<TfTensor> AllocateOutput(TF_OpKernelContext* context, int index,
                                TF_DataType dtype,
                                const std::vector<int64_t>& shape,
                                size_t bytes);

// Sets output `index` to `tensor`.
Status SetOutput(TF_OpKernelContext* context, int index,
                 const TfTensor& tensor);

template <typename T>
Span<T> Values(const TF_Tensor* tensor) {
  return Span<T>(static_cast<T*>(TF_TensorData(tensor)),
                 static_cast<size_t>(TF_TensorElementCount(tensor)));
}
template <typename T>
Span<T> Values(const TfTensor& tensor) {
  return Values<T>(tensor.get());
}

// Returns the value of input `index`, which must hold exactly one value.
template <typename T>
Result<T> GetScalar(TF_OpKernelContext* context, int index, const char* name) {
  auto tensor = GetInput(context, index);
  if (!tensor.ok()) return tensor.status();
  const Span<const T> values = Values<const T>(*tensor);
  if (values.size() == 1) return values[0];
  return InvalidArgument(name, " must hold one value, received ",
                         values.size());
}

// Returns the `count` values of input `index`, which must hold that many
// values, or one value that stands for all of them.
template <typename T>
Result<std::vector<T>> GetValues(TF_OpKernelContext* context, int index,
                                 const char* name, size_t count) {
  auto tensor = GetInput(context, index);
  if (!tensor.ok()) return tensor.status();
  const Span<const T> values = Values<const T>(*tensor);
  if (values.size() == 1) return std::vector<T>(count, values[0]);
  if (values.size() == count) {
    return std::vector<T>(values.begin(), values.end());
  }
  return InvalidArgument(name, " must hold one value, or ", count,
                         ", received ", values.size());
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_KERNEL_UTIL_H_
