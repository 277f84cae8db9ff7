#include <functional>
#include <memory>
#include <utility>
#include <vector>

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

Result<std::vector<OptimizerStep>> GetSteps(TF_OpKernelContext* context,
                                            size_t layers) {
  auto rates = GetValues<float>(context, 1, "learning_rates", layers);
  if (!rates.ok()) return rates.status();
  auto numbers = GetValues<int64_t>(context, 2, "steps", layers);
  if (!numbers.ok()) return numbers.status();
  std::vector<OptimizerStep> steps;
  for (size_t i = 0; i < layers; ++i) {
    // The step number may wrap around: optimizers use only differences of step
    // numbers, of a few thousand at most.
    steps.emplace_back((*rates)[i], static_cast<uint32_t>((*numbers)[i]));
  }
  return steps;
}

void Compute(void* kernel, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  const auto& attrs = *static_cast<LayerAttrs*>(kernel);
  const std::function<void()> done = CopyDone(tf_done);
  const auto finish = [context, done](const Status& status) {
    if (!status.ok()) FailOp(context, status);
    done();
  };
  const auto session = FindSession(attrs.session);
  if (!session.ok()) return finish(session.status());
  const Status passed = PassAnchor(context);
  if (!passed.ok()) return finish(passed);
  const auto steps = GetSteps(context, attrs.layers.size());
  if (!steps.ok()) return finish(steps.status());
  // Once `finish` has been called, TensorFlow may delete the kernel, and with
  // it `attrs`: the function that the op is part of has ended, and may be
  // dropped.
  (*session)->Commit(
      attrs.layers, *steps,
      [finish, alive = *session](const Status& status) { finish(status); });
}

}  // namespace

void RegisterCommitOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaCommit");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddInput(op, "learning_rates: float");
  TF_OpDefinitionBuilderAddInput(op, "steps: int64");
  TF_OpDefinitionBuilderAddOutput(op, "passed_anchor: float");
  AddLayerAttrs(op);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterAsyncKernel("PersiaCommit", Create, Compute, Delete<LayerAttrs>);
}

}  // namespace persia
