#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/late_done.h"
#include "cc/ops/layer_columns.h"
#include "cc/ops/lookup_handles.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/layer_name.h"
#include "cc/pipeline/lookup.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct RowsKernel {
  LayerColumns columns;
  std::vector<bool> pooled;
};

// Holds what must stay alive from the kernel's compute function until the rows
// have arrived.
struct RowsState {
  TF_OpKernelContext* context;
  std::function<void()> done;
  LookupHandle handle;
  std::vector<TfTensor> rows;
};

Status Configure(TF_OpKernelConstruction* construction, RowsKernel* kernel) {
  std::vector<int32_t> dims;
  int32_t tensors = 0;
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dims", &dims));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "pooled", &kernel->pooled));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "M", &tensors));
  auto columns = LayerColumns::Of(std::move(dims), tensors);
  if (!columns.ok()) return columns.status();
  kernel->columns = std::move(*columns);
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<RowsKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

// Allocates the output that has the rows of layer `i`: of the shape like.shape
// + (width,), or, if the layer pools, with the width in place of like's
// innermost axis.
Result<TfTensor> AllocateRows(const RowsKernel& kernel, size_t i,
                              TF_OpKernelContext* context) {
  // Input 0 is the handle.
  auto like = GetInput(context, static_cast<int>(1 + i));
  if (!like.ok()) return like.status();
  std::vector<int64_t> shape;
  int64_t floats = kernel.columns.WidthOf(i);
  const int axes = TF_NumDims(like->get()) - (kernel.pooled[i] ? 1 : 0);
  for (int d = 0; d < axes; ++d) {
    shape.push_back(TF_Dim(like->get(), d));
    floats *= shape.back();
  }
  shape.push_back(kernel.columns.WidthOf(i));
  return AllocateOutput(context, static_cast<int>(i), TF_FLOAT, shape,
                        floats * sizeof(float));
}

Status EmitTickets(const std::vector<Issued>& lookups, int output,
                   TF_OpKernelContext* context) {
  auto tickets = AllocateOutput(context, output, TF_INT64,
                                {static_cast<int64_t>(lookups.size())},
                                lookups.size() * sizeof(Ticket));
  if (!tickets.ok()) return tickets.status();
  for (size_t i = 0; i < lookups.size(); ++i) {
    Values<Ticket>(*tickets)[i] = lookups[i].ticket;
  }
  return Status();
}

// Vectors can be joined only if each layer has equally many.
Status CheckJoined(const std::vector<Issued>& lookups) {
  const LookupPlan& first = *lookups[0].lookup->plan();
  for (const Issued& issued : lookups) {
    const LookupPlan& plan = *issued.lookup->plan();
    if (plan.vectors() == first.vectors()) continue;
    return InvalidArgument(
        "layers whose vectors are joined must look up equally many, received ",
        first.vectors(), " for '", ShownLayer(first.layer), "' and ",
        plan.vectors(), " for '", ShownLayer(plan.layer),
        "': pass ids of one shape, or do not join the vectors");
  }
  return Status();
}

Result<std::shared_ptr<RowsState>> Prepare(const RowsKernel& kernel,
                                           TF_OpKernelContext* context,
                                           std::function<void()> done) {
  auto number = GetScalar<int64_t>(context, 0, "lookup");
  if (!number.ok()) return number.status();
  auto handle = FindHandle(*number);
  if (!handle.ok()) return handle.status();
  if (handle->lookups.size() != kernel.columns.layers()) {
    return InvalidArgument("the op takes the rows of ", kernel.columns.layers(),
                           " layers, received a lookup of ",
                           handle->lookups.size());
  }
  if (kernel.columns.tensors() == 1) {
    PERSIA_RETURN_IF_ERROR(CheckJoined(handle->lookups));
  }
  auto state = std::make_shared<RowsState>();
  state->context = context;
  state->done = std::move(done);
  for (size_t t = 0; t < kernel.columns.tensors(); ++t) {
    auto rows = AllocateRows(kernel, t, context);
    if (!rows.ok()) return rows.status();
    state->rows.push_back(std::move(*rows));
  }
  PERSIA_RETURN_IF_ERROR(EmitTickets(
      handle->lookups, static_cast<int>(state->rows.size()), context));
  state->handle = std::move(*handle);
  return state;
}

void Finish(const std::shared_ptr<RowsState>& state, const Status& status) {
  if (!status.ok()) FailOp(state->context, status);
  // Release the tensors before `done`, which ends the op's context.
  const std::function<void()> done = std::move(state->done);
  state->rows.clear();
  done();
}

void Compute(void* kernel_object, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  const auto& kernel = *static_cast<RowsKernel*>(kernel_object);
  std::function<void()> done = CopyDone(tf_done);
  auto prepared = CatchBadAlloc([&] { return Prepare(kernel, context, done); });
  if (!prepared.ok()) {
    FailOp(context, prepared.status());
    return done();
  }
  const std::shared_ptr<RowsState> state = *prepared;
  std::vector<WantedRows> wanted;
  for (size_t i = 0; i < kernel.columns.layers(); ++i) {
    const TfTensor& rows = state->rows[kernel.columns.TensorOf(i)];
    wanted.push_back({state->handle.lookups[i].lookup,
                      kernel.columns.VectorsOf(i, Values<float>(rows))});
  }
  state->handle.session->Fetch(
      std::move(wanted),
      [state](const Status& status) { Finish(state, status); });
}

}  // namespace

// PersiaRows is stateless, unlike the other training ops: TensorFlow runs the
// stateful ops of a function one after the other, and so would wait for one
// layer's rows before it issued the next layer's lookup.
//
// The tickets are an output of PersiaRows, so that gradients are staged only
// after the rows have arrived: an update must not overtake the lookup that
// creates its rows. Without the tickets, the update might run first, since the
// gradients of a sum, for example, do not depend on the rows.
void RegisterRowsOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaRows");
  TF_OpDefinitionBuilderAddInput(op, "lookup: int64");
  TF_OpDefinitionBuilderAddInput(op, "likes: T");
  TF_OpDefinitionBuilderAddOutput(op, "rows: M * float");
  TF_OpDefinitionBuilderAddOutput(op, "tickets: int64");
  TF_OpDefinitionBuilderAddAttr(op, "T: list({int32, int64}) >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "M: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "dims: list(int)");
  TF_OpDefinitionBuilderAddAttr(op, "pooled: list(bool)");
  RegisterOp(op, /*is_stateful=*/false);
  RegisterAsyncKernel("PersiaRows", Create, Compute, Delete<RowsKernel>);
}

}  // namespace persia
