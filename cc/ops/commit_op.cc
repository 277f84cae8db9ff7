#include <functional>
#include <memory>
#include <utility>

#include "cc/ops/kernel_util.h"
#include "cc/ops/late_done.h"
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

// Outputs the anchor unchanged. The layer assigns this output to its anchor
// variable, so the anchor's next reader runs after the commit.
Status PassAnchor(TF_OpKernelContext* context) {
  auto anchor = GetInput(context, 0);
  if (!anchor.ok()) return anchor.status();
  return SetOutput(context, 0, *anchor);
}

Result<OptimizerStep> GetStep(TF_OpKernelContext* context) {
  auto learning_rate = GetScalar<float>(context, 1, "learning_rate");
  if (!learning_rate.ok()) return learning_rate.status();
  auto number = GetScalar<int64_t>(context, 2, "step");
  if (!number.ok()) return number.status();
  // The step number may wrap around: optimizers use only differences of step
  // numbers, of a few thousand at most.
  return OptimizerStep(*learning_rate, static_cast<uint32_t>(*number));
}

void Compute(void* kernel, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  const auto& attrs = *static_cast<LayerAttrs*>(kernel);
  std::function<void()> done = CopyDone(tf_done);
  const auto finish = [context, done](const Status& status) {
    if (!status.ok()) FailOp(context, status);
    done();
  };
  auto session = FindSession(attrs.session);
  if (!session.ok()) return finish(session.status());
  const Status passed = PassAnchor(context);
  if (!passed.ok()) return finish(passed);
  const auto step = GetStep(context);
  if (!step.ok()) return finish(step.status());
  Session* const target = session->get();
  target->Commit(attrs.layer, *step,
                 [finish, alive = std::move(*session)](const Status& status) {
                   finish(status);
                 });
}

}  // namespace

void RegisterCommitOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaCommit");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddInput(op, "learning_rate: float");
  TF_OpDefinitionBuilderAddInput(op, "step: int64");
  TF_OpDefinitionBuilderAddOutput(op, "passed_anchor: float");
  AddLayerAttrs(op);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterAsyncKernel("PersiaCommit", Create, Compute, Delete<LayerAttrs>);
}

}  // namespace persia
