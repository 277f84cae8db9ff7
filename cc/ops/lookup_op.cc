#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/late_done.h"
#include "cc/ops/layer_attrs.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct LookupKernel {
  LayerAttrs attrs;
  TableKey table = 0;
  int32_t dim = 0;
  bool training = false;
};

// What must stay alive from compute to completion.
struct LookupState {
  TF_OpKernelContext* context;
  std::function<void()> done;
  std::shared_ptr<Session> session;
  TfTensor ids;
  TfTensor rows;
  TfTensor ticket;
};

Status Configure(TF_OpKernelConstruction* construction, LookupKernel* kernel) {
  std::string table;
  PERSIA_RETURN_IF_ERROR(GetLayerAttrs(construction, &kernel->attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "table", &table));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dim", &kernel->dim));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "training", &kernel->training));
  kernel->table = HashName(table);
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<LookupKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

Result<TfTensor> AllocateRows(TF_OpKernelContext* context, const TfTensor& ids,
                              int32_t dim) {
  std::vector<int64_t> shape;
  int64_t floats = dim;
  for (int d = 0; d < TF_NumDims(ids.get()); ++d) {
    shape.push_back(TF_Dim(ids.get(), d));
    floats *= shape.back();
  }
  shape.push_back(dim);
  return AllocateOutput(context, 0, TF_FLOAT, shape, floats * sizeof(float));
}

Result<std::shared_ptr<LookupState>> Prepare(const LookupKernel& kernel,
                                             TF_OpKernelContext* context,
                                             std::function<void()> done) {
  auto session = FindSession(kernel.attrs.session);
  if (!session.ok()) return session.status();
  auto ids = GetInput(context, 0);
  if (!ids.ok()) return ids.status();
  auto rows = AllocateRows(context, *ids, kernel.dim);
  if (!rows.ok()) return rows.status();
  auto ticket = AllocateOutput(context, 1, TF_INT64, {}, sizeof(Ticket));
  if (!ticket.ok()) return ticket.status();
  return std::make_shared<LookupState>(
      LookupState{context, std::move(done), std::move(*session),
                  std::move(*ids), std::move(*rows), std::move(*ticket)});
}

void Finish(const std::shared_ptr<LookupState>& state, const Status& status,
            Ticket ticket) {
  if (status.ok()) {
    Values<Ticket>(state->ticket)[0] = ticket;
  } else {
    FailOp(state->context, status);
  }
  // Tensors are let go before the op completes: its context ends then.
  const std::function<void()> done = std::move(state->done);
  state->ids.reset();
  state->rows.reset();
  state->ticket.reset();
  done();
}

void Compute(void* kernel_pointer, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  const auto& kernel = *static_cast<LookupKernel*>(kernel_pointer);
  std::function<void()> done = CopyDone(tf_done);
  auto state = Prepare(kernel, context, done);
  if (!state.ok()) {
    FailOp(context, state.status());
    return done();
  }
  LookupCall call;
  call.layer = kernel.attrs.layer;
  call.table = kernel.table;
  call.dim = static_cast<uint32_t>(kernel.dim);
  call.training = kernel.training;
  call.ids = Values<const int64_t>((*state)->ids);
  call.rows = Values<float>((*state)->rows);
  Session* session = (*state)->session.get();
  session->Lookup(call, [state = *state](Status status, Ticket ticket) {
    Finish(state, status, ticket);
  });
}

}  // namespace

void RegisterLookupOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaLookup");
  TF_OpDefinitionBuilderAddInput(op, "ids: int64");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddOutput(op, "rows: float");
  TF_OpDefinitionBuilderAddOutput(op, "ticket: int64");
  AddLayerAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "table: string");
  TF_OpDefinitionBuilderAddAttr(op, "dim: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "training: bool");
  RegisterOp(op);
  RegisterAsyncKernel("PersiaLookup", Create, Compute, Delete<LookupKernel>);
}

}  // namespace persia
