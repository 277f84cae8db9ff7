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

// Passes the anchor on, so that what is assigned to it depends on the commit.
Result<float> PassAnchor(TF_OpKernelContext* context) {
  auto anchor = GetInput(context, 0);
  if (!anchor.ok()) return anchor.status();
  PERSIA_RETURN_IF_ERROR(SetOutput(context, 0, *anchor));
  return GetScalar<float>(context, 1, "learning_rate");
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
  auto learning_rate = PassAnchor(context);
  if (!learning_rate.ok()) return finish(learning_rate.status());
  Session* const target = session->get();
  target->Commit(attrs.layer, *learning_rate,
                 [finish, alive = std::move(*session)](const Status& status) {
                   finish(status);
                 });
}

}  // namespace

void RegisterCommitOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaCommit");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddInput(op, "learning_rate: float");
  TF_OpDefinitionBuilderAddOutput(op, "passed_anchor: float");
  AddLayerAttrs(op);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterAsyncKernel("PersiaCommit", Create, Compute, Delete<LayerAttrs>);
}

}  // namespace persia
