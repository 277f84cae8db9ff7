#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_attrs.h"
#include "cc/ops/layer_columns.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct StageKernel {
  LayerAttrs attrs;
  LayerColumns columns;
};

Status Configure(TF_OpKernelConstruction* construction, StageKernel* kernel) {
  std::vector<int32_t> dims;
  int32_t tensors = 0;
  PERSIA_RETURN_IF_ERROR(GetLayerAttrs(construction, &kernel->attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dims", &dims));
  PERSIA_RETURN_IF_ERROR(
      CheckOnePerLayer(kernel->attrs.layers, "dims", {dims.size()}));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "M", &tensors));
  auto columns = LayerColumns::Of(std::move(dims), tensors);
  if (!columns.ok()) return columns.status();
  kernel->columns = std::move(*columns);
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<StageKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

// Outputs zeros as the anchor's gradient. Since the optimizer uses this output,
// the commit runs after the staging. (Constant zeros with a control dependency
// on this op do not ensure that order.)
Status EmitAnchorGradient(TF_OpKernelContext* context, int anchor_index) {
  auto anchor = GetInput(context, anchor_index);
  if (!anchor.ok()) return anchor.status();
  std::vector<int64_t> shape;
  for (int d = 0; d < TF_NumDims(anchor->get()); ++d) {
    shape.push_back(TF_Dim(anchor->get(), d));
  }
  auto gradient = AllocateOutput(context, 0, TF_FLOAT, shape,
                                 TF_TensorByteSize(anchor->get()));
  if (!gradient.ok()) return gradient.status();
  const Span<float> zeros = Values<float>(*gradient);
  std::fill(zeros.begin(), zeros.end(), 0.0f);
  return Status();
}

// Stages the gradients without a copy: while the session holds the gradients'
// tensor, TensorFlow does not reuse the tensor's memory.
Status Stage(const StageKernel& kernel, TF_OpKernelContext* context) {
  const std::vector<std::string>& layers = kernel.attrs.layers;
  auto session = FindSession(kernel.attrs.session);
  if (!session.ok()) return session.status();
  auto tickets = GetValues<Ticket>(context, 0, "tickets", layers.size());
  if (!tickets.ok()) return tickets.status();
  std::vector<std::shared_ptr<TF_Tensor>> tensors;
  for (size_t t = 0; t < kernel.columns.tensors(); ++t) {
    auto tensor = GetInput(context, static_cast<int>(1 + t));
    if (!tensor.ok()) return tensor.status();
    tensors.emplace_back(std::move(*tensor));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& tensor = tensors[kernel.columns.TensorOf(i)];
    SharedGradients gradients;
    gradients.vectors =
        kernel.columns.VectorsOf(i, Values<const float>(tensor.get()));
    gradients.owner = tensor;
    PERSIA_RETURN_IF_ERROR(
        (*session)->Stage(layers[i], (*tickets)[i], std::move(gradients)));
  }
  return EmitAnchorGradient(context, static_cast<int>(1 + tensors.size()));
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  RunKernel(context,
            [&] { return Stage(*static_cast<StageKernel*>(kernel), context); });
}

}  // namespace

void RegisterStageOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaStage");
  TF_OpDefinitionBuilderAddInput(op, "tickets: int64");
  TF_OpDefinitionBuilderAddInput(op, "gradients: M * float");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddOutput(op, "anchor_gradient: float");
  TF_OpDefinitionBuilderAddAttr(op, "M: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "dims: list(int)");
  AddLayerAttrs(op);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaStage", Create, Compute, Delete<StageKernel>);
}

}  // namespace persia
