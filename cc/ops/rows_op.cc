#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/late_done.h"
#include "cc/ops/lookup_handles.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct RowsKernel {
  int32_t dim = 0;
  bool pooled = false;
};

// Holds what must stay alive from the kernel's compute function until the rows
// have arrived.
struct RowsState {
  TF_OpKernelContext* context;
  std::function<void()> done;
  LookupHandle handle;
  TfTensor rows;
};

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<RowsKernel>();
  Status status = GetAttr(construction, "dim", &kernel->dim);
  if (status.ok()) status = GetAttr(construction, "pooled", &kernel->pooled);
  return CreateOrFail(construction, status, std::move(kernel));
}

// Allocates rows of the shape like.shape + (dim,); if the kernel pools, `dim`
// replaces the innermost axis of `like` instead.
Result<TfTensor> AllocateRows(const RowsKernel& kernel,
                              TF_OpKernelContext* context,
                              const TfTensor& like) {
  std::vector<int64_t> shape;
  int64_t floats = kernel.dim;
  const int axes = TF_NumDims(like.get()) - (kernel.pooled ? 1 : 0);
  for (int d = 0; d < axes; ++d) {
    shape.push_back(TF_Dim(like.get(), d));
    floats *= shape.back();
  }
  shape.push_back(kernel.dim);
  return AllocateOutput(context, 0, TF_FLOAT, shape, floats * sizeof(float));
}

Result<std::shared_ptr<RowsState>> Prepare(const RowsKernel& kernel,
                                           TF_OpKernelContext* context,
                                           std::function<void()> done) {
  auto number = GetScalar<int64_t>(context, 0, "lookup");
  if (!number.ok()) return number.status();
  auto handle = FindHandle(*number);
  if (!handle.ok()) return handle.status();
  auto like = GetInput(context, 1);
  if (!like.ok()) return like.status();
  auto rows = AllocateRows(kernel, context, *like);
  if (!rows.ok()) return rows.status();
  auto ticket = AllocateOutput(context, 1, TF_INT64, {}, sizeof(Ticket));
  if (!ticket.ok()) return ticket.status();
  Values<Ticket>(*ticket)[0] = handle->ticket;
  return std::make_shared<RowsState>(RowsState{
      context, std::move(done), std::move(*handle), std::move(*rows)});
}

void Finish(const std::shared_ptr<RowsState>& state, const Status& status) {
  if (!status.ok()) FailOp(state->context, status);
  // Release the tensor before `done`, which ends the op's context.
  const std::function<void()> done = std::move(state->done);
  state->rows.reset();
  done();
}

void Compute(void* kernel, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  std::function<void()> done = CopyDone(tf_done);
  auto prepared = CatchBadAlloc([&] {
    return Prepare(*static_cast<RowsKernel*>(kernel), context, done);
  });
  if (!prepared.ok()) {
    FailOp(context, prepared.status());
    return done();
  }
  const std::shared_ptr<RowsState> state = *prepared;
  state->handle.session->Fetch(
      state->handle.lookup, Values<float>(state->rows),
      [state](const Status& status) { Finish(state, status); });
}

}  // namespace

// PersiaRows is stateless, unlike the other training ops: TensorFlow runs the
// stateful ops of a function one after the other, and so would wait for one
// layer's rows before it issued the next layer's lookup.
//
// The ticket is an output of PersiaRows, so that gradients are staged only
// after the rows have arrived: an update must not overtake the lookup that
// creates its rows. Without the ticket, the update might run first, since the
// gradients of a sum, for example, do not depend on the rows.
void RegisterRowsOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaRows");
  TF_OpDefinitionBuilderAddInput(op, "lookup: int64");
  TF_OpDefinitionBuilderAddInput(op, "like: T");
  TF_OpDefinitionBuilderAddOutput(op, "rows: float");
  TF_OpDefinitionBuilderAddOutput(op, "ticket: int64");
  TF_OpDefinitionBuilderAddAttr(op, "T: {int32, int64}");
  TF_OpDefinitionBuilderAddAttr(op, "dim: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "pooled: bool");
  RegisterOp(op, /*is_stateful=*/false);
  RegisterAsyncKernel("PersiaRows", Create, Compute, Delete<RowsKernel>);
}

}  // namespace persia
