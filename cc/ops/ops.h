// Declares the TensorFlow ops of this library and how they are registered. Only
// cc/ops includes TensorFlow, and only its C API, so one binary serves every
// TensorFlow from 2.16 on.
//
//   PersiaPrefetch(stream, N x ids, N x splits; session, N x layer, table, ...)
//       -> next_stream        registers the ids that each layer will look up,
//                             and opens a stream if `stream` is 0; never blocks
//   PersiaIssue(N x ids, N x splits, anchor; session, N x layer, table, ...)
//       -> lookup             begins a lookup for each of some layers; never
//                             blocks on the network
//   PersiaRows(lookup, likes; N x dim, pooled)
//       -> M x rows, tickets  completes when the rows have arrived; a ticket
//                             is 0 if the lookup was not for training
//   PersiaStage(tickets, M x gradients, anchor; session, N x layer, dim)
//       -> anchor_gradient    stages the tickets' gradients; never blocks
//   PersiaCommit(anchor, learning_rates, steps; session, N x layer)
//       -> passed_anchor      commits the layers' staged gradients; with a
//                             staleness of 0, completes when they are
//                             acknowledged
//   PersiaRemoteLookup_of_persia_ops_so(ids, live; table, dim, cluster, ...)
//       -> rows               looks up rows of a table on shards, in an
//                             exported graph: see remote_lookup_op.cc
//   PersiaTakeBatch(place; formats, dtypes)
//       -> columns            takes a batch that pyarrow made: see
//                             take_batch_op.cc
//
// The ids' tensor is flattened. With combiner "none", there is one row per id,
// and `splits` must be empty. With another combiner, there is one row per bag:
// `splits` are the row splits of the flat ids, or empty if each row of the ids'
// innermost axis is a bag.
//
// With M = N, PersiaRows returns a tensor per layer, of the shape like.shape +
// (dim,); if `pooled`, `dim` replaces the last axis of like.shape instead. With
// M = 1, it returns one tensor, as the first layer's would be, but with the
// vectors of all layers side by side in its last axis. PersiaStage takes
// gradients in the same form. PersiaRemoteLookup does not pool: its rows have
// the shape ids.shape + (dim,).
//
// Ops name their session (see FindSession), their layers and the tables by
// strings, so a graph holds no pointers. `anchor` is a trainable variable of
// the Keras layer: ops of successive steps run in order because they read and
// assign the anchor.

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
void RegisterTakeBatchOp();

// Registers `op`, with unknown output shapes. TensorFlow does not fold, merge
// or drop a stateful op, and runs it in program order with a function's other
// stateful ops. The process aborts while it loads this library if another
// library has already defined the same op.
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

// Returns what a kernel's create function must return: the kernel if `status`
// is ok. Otherwise reports the error to TensorFlow and returns null.
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
