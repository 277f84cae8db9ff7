// Allows an asynchronous kernel to complete on another thread.

#ifndef PERSIA_CC_OPS_LATE_DONE_H_
#define PERSIA_CC_OPS_LATE_DONE_H_

#include <functional>

#include "tensorflow/c/kernels.h"

namespace persia {

// Returns a completion that may be called once, on any thread, also after the
// kernel's compute function has returned.
//
// The C API passes a kernel a pointer that is valid only while its compute
// function runs: the address of a std::function<void()> on TensorFlow's stack.
// Calling TF_RunAsyncOpKernelDoneCallback with this pointer after the compute
// function has returned crashes in graph mode (TensorFlow 2.16 and 2.21). So
// CopyDone copies the std::function. No other code relies on what the pointer
// points to.
inline std::function<void()> CopyDone(TF_AsyncOpKernelDoneCallback* done) {
  return *reinterpret_cast<std::function<void()>*>(done);
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_LATE_DONE_H_
