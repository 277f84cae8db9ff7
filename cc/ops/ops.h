// The ops and how they are registered. Only cc/ops includes TensorFlow, and
// only its C API, so one binary serves every TensorFlow from 2.16 on.
//
//   PersiaPrefetch(stream, N x ids, N x splits; session, N x layer, table, ...)
//       -> stream             tells which ids each layer will look up; never
//                             blocks
//   PersiaIssue(ids, splits, anchor; session, layer, table, combiner, dim, ...)
//       -> lookup, ticket     begins a lookup; in training, with a ticket;
//                             never blocks on the network
//   PersiaRows(lookup, like; dim) -> rows
//                             like.shape + (dim,) rows, once they have come
//   PersiaStage(ticket, gradients, anchor; session, layer) -> anchor gradient
//                             hands the ticket its gradients; never blocks
//   PersiaCommit(anchor, learning_rate, step; session, layer) -> anchor
//                             the optimizer stepped the layer: push
//   PersiaRemoteLookup_of_persia_ops_so(ids, live; cluster, addresses, ...)
//       -> rows               ids.shape + (dim,) rows of a table on shards, in
//                             an exported graph: see remote_lookup_op.cc
//
// With a combiner, `splits` are where the bags of the flat ids begin and end,
// and `rows` and their gradients have a vector a bag; with "none" it is empty.
//
// Ops name their session (an entry of a registry of this process), their layer
// and its table by strings, so a graph holds no pointers. `anchor` is the
// layer's trainable variable: reading and assigning it puts the ops of
// successive steps in order.

#ifndef PERSIA_CC_OPS_OPS_H_
#define PERSIA_CC_OPS_OPS_H_

#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

namespace persia {

void RegisterPrefetchOp();
void RegisterIssueOp();
void RegisterRowsOp();
void RegisterStageOp();
void RegisterCommitOp();
void RegisterRemoteLookupOp();

// Registers `op`, of unknown output shapes. A stateful one is neither folded,
// merged nor dropped by TensorFlow, and runs in its place among the stateful
// ops of a function. A failure ends the process at load: two libraries define
// one op.
void RegisterOp(TF_OpDefinitionBuilder* op, bool is_stateful);

using CreateKernel = void* (*)(TF_OpKernelConstruction*);
using ComputeKernel = void (*)(void*, TF_OpKernelContext*);
using ComputeAsyncKernel = void (*)(void*, TF_OpKernelContext*,
                                    TF_AsyncOpKernelDoneCallback*);
using DeleteKernel = void (*)(void*);
void RegisterKernel(const char* op, CreateKernel create, ComputeKernel compute,
                    DeleteKernel destroy);
void RegisterAsyncKernel(const char* op, CreateKernel create,
                         ComputeAsyncKernel compute, DeleteKernel destroy);

// What a kernel's create function returns: the kernel if `status` is ok.
template <typename Kernel>
void* CreateOrFail(TF_OpKernelConstruction* construction, const Status& status,
                   std::unique_ptr<Kernel> kernel) {
  if (status.ok()) return kernel.release();
  const TfStatus tf_status = NewTfStatus();
  SetTfStatus(status, tf_status.get());
  TF_OpKernelConstruction_Failure(construction, tf_status.get());
  return nullptr;
}

template <typename Kernel>
void Delete(void* kernel) {
  delete static_cast<Kernel*>(kernel);
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_OPS_H_
