#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_inputs.h"
#include "cc/ops/lookup_attrs.h"
#include "cc/ops/lookup_handles.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct IssueKernel {
  std::string session;
  std::vector<LayerCall> calls;  // The layers' settings; each run adds the ids.
};

Status Configure(TF_OpKernelConstruction* construction, IssueKernel* kernel) {
  LookupAttrs attrs;
  LayerCall common;
  PERSIA_RETURN_IF_ERROR(GetLookupAttrs(construction, &attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "replica", &common.replica));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "training", &common.training));
  PERSIA_RETURN_IF_ERROR(
      GetAttr(construction, "model_training", &common.model_training));
  PERSIA_RETURN_IF_ERROR(
      CheckOnePerLayer(attrs.layers, "tables, combiners, dims and absents",
                       {attrs.tables.size(), attrs.combiners.size(),
                        attrs.dims.size(), attrs.absents.size()}));
  kernel->session = attrs.session;
  for (size_t i = 0; i < attrs.layers.size(); ++i) {
    LayerCall call = common;
    PERSIA_RETURN_IF_ERROR(SetLayer(attrs, i, &call));
    kernel->calls.push_back(std::move(call));
  }
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<IssueKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

Status Issue(const IssueKernel& kernel, TF_OpKernelContext* context) {
  auto session = FindSession(kernel.session);
  if (!session.ok()) return session.status();
  std::vector<LayerCall> calls = kernel.calls;
  std::vector<LayerInputs> all_inputs;
  for (size_t i = 0; i < calls.size(); ++i) {
    auto inputs = TakeInputs(context, 0, calls.size(), i, &calls[i]);
    if (!inputs.ok()) return inputs.status();
    all_inputs.push_back(std::move(*inputs));
  }
  auto issued = (*session)->Issue(calls);
  if (!issued.ok()) return issued.status();
  LookupHandle handle;
  handle.lookups = std::move(*issued);
  handle.session = std::move(*session);
  return SetOutput(context, 0, NewHandle(std::move(handle)));
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  RunKernel(context,
            [&] { return Issue(*static_cast<IssueKernel*>(kernel), context); });
}

}  // namespace

void RegisterIssueOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaIssue");
  TF_OpDefinitionBuilderAddInput(op, "ids: N * int64");
  TF_OpDefinitionBuilderAddInput(op, "splits: N * int32");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddOutput(op, "lookup: int64");
  TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
  AddLookupAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "replica: int >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "training: bool");
  TF_OpDefinitionBuilderAddAttr(op, "model_training: bool");
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaIssue", Create, Compute, Delete<IssueKernel>);
}

}  // namespace persia
