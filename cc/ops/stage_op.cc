#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_attrs.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

void* Create(TF_OpKernelConstruction* construction) {
  auto attrs = std::make_unique<LayerAttrs>();
  const Status status = GetLayerAttrs(construction, attrs.get());
  return CreateOrFail(construction, status, std::move(attrs));
}

// Outputs zeros as the anchor's gradient. Since the optimizer uses this output,
// the commit runs after the staging. (Constant zeros with a control dependency
// on this op do not ensure that order.)
Status EmitAnchorGradient(TF_OpKernelContext* context) {
  auto anchor = GetInput(context, 2);
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
Status Stage(const LayerAttrs& attrs, TF_OpKernelContext* context) {
  auto session = FindSession(attrs.session);
  if (!session.ok()) return session.status();
  auto ticket = GetScalar<Ticket>(context, 0, "ticket");
  if (!ticket.ok()) return ticket.status();
  auto tensor = GetInput(context, 1);
  if (!tensor.ok()) return tensor.status();
  SharedGradients gradients;
  gradients.values = Values<const float>(*tensor);
  gradients.owner = std::shared_ptr<TF_Tensor>(std::move(*tensor));
  PERSIA_RETURN_IF_ERROR(
      (*session)->Stage(attrs.layer, *ticket, std::move(gradients)));
  return EmitAnchorGradient(context);
}

void Compute(void* attrs, TF_OpKernelContext* context) {
  RunKernel(context,
            [&] { return Stage(*static_cast<LayerAttrs*>(attrs), context); });
}

}  // namespace

void RegisterStageOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaStage");
  TF_OpDefinitionBuilderAddInput(op, "ticket: int64");
  TF_OpDefinitionBuilderAddInput(op, "gradients: float");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddOutput(op, "anchor_gradient: float");
  AddLayerAttrs(op);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaStage", Create, Compute, Delete<LayerAttrs>);
}

}  // namespace persia
