#include <cstdio>
#include <cstdlib>

#include "cc/ops/ops.h"

namespace persia {
namespace {

void CheckRegistered(const TfStatus& status) {
  if (TF_GetCode(status.get()) == TF_OK) return;
  std::fprintf(stderr, "persia_tf: cannot register its ops: %s\n",
               TF_Message(status.get()));
  std::abort();
}

void Finish(const char* op, TF_KernelBuilder* builder) {
  const TfStatus status = NewTfStatus();
  TF_RegisterKernelBuilder(op, builder, status.get());
  CheckRegistered(status);
}

// Initializing this variable, when TensorFlow loads this library, registers the
// ops.
const bool registered = [] {
  RegisterPrefetchOp();
  RegisterIssueOp();
  RegisterRowsOp();
  RegisterStageOp();
  RegisterCommitOp();
  RegisterRemoteLookupOp();
  RegisterTakeBatchOp();
  return true;
}();

}  // namespace

void RegisterOp(TF_OpDefinitionBuilder* op, bool is_stateful) {
  // TF_OpDefinitionBuilderSetIsStateful makes an op stateful even if its
  // argument is false, so it must not be called for a stateless op.
  if (is_stateful) TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(
      op, &TF_ShapeInferenceContextSetUnknownShape);
  const TfStatus status = NewTfStatus();
  TF_RegisterOpDefinition(op, status.get());
  CheckRegistered(status);
}

void RegisterKernel(const char* op, CreateKernel create, ComputeKernel compute,
                    DeleteKernel destroy) {
  Finish(op, TF_NewKernelBuilder(op, "CPU", create, compute, destroy));
}

void RegisterAsyncKernel(const char* op, CreateKernel create,
                         ComputeAsyncKernel compute, DeleteKernel destroy) {
  Finish(op, TF_NewAsyncKernelBuilder(op, "CPU", create, compute, destroy));
}

}  // namespace persia
