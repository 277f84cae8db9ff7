#include <memory>
#include <string>
#include <utility>

#include "cc/base/hash.h"
#include "cc/ops/absent_rows.h"
#include "cc/ops/bags.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_attrs.h"
#include "cc/ops/lookup_handles.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct IssueKernel {
  std::string session;
  LayerCall call;  // The layer's settings; each run adds the ids.
};

Status Configure(TF_OpKernelConstruction* construction, IssueKernel* kernel) {
  LayerAttrs attrs;
  std::string table;
  std::string combiner;
  std::string absent;
  int32_t dim = 0;
  LayerCall* const call = &kernel->call;
  PERSIA_RETURN_IF_ERROR(GetLayerAttrs(construction, &attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "table", &table));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "combiner", &combiner));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dim", &dim));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "replica", &call->replica));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "training", &call->training));
  PERSIA_RETURN_IF_ERROR(
      GetAttr(construction, "model_training", &call->model_training));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "absent", &absent));
  auto parsed = ParseCombiner(combiner);
  if (!parsed.ok()) return parsed.status();
  call->combiner = *parsed;
  auto absent_rows = ParseAbsentRows(absent);
  if (!absent_rows.ok()) return absent_rows.status();
  call->absent = *absent_rows;
  kernel->session = attrs.session;
  call->layer = attrs.layer;
  call->table = HashName(table);
  call->dim = static_cast<uint32_t>(dim);
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
  auto ids = GetInput(context, 0);
  if (!ids.ok()) return ids.status();
  auto splits = GetInput(context, 1);
  if (!splits.ok()) return splits.status();
  auto bags = BagOffsets::Of(kernel.call.combiner, *ids, std::move(*splits));
  if (!bags.ok()) return bags.status();
  LayerCall call = kernel.call;
  call.ids = Values<const int64_t>(*ids);
  call.bag_offsets = bags->offsets();
  auto issued = (*session)->Issue(call);
  if (!issued.ok()) return issued.status();
  return SetOutput(context, 0,
                   NewHandle({std::move(*session), std::move(issued->lookup),
                              issued->ticket}));
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  RunKernel(context,
            [&] { return Issue(*static_cast<IssueKernel*>(kernel), context); });
}

}  // namespace

void RegisterIssueOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaIssue");
  TF_OpDefinitionBuilderAddInput(op, "ids: int64");
  TF_OpDefinitionBuilderAddInput(op, "splits: int32");
  TF_OpDefinitionBuilderAddInput(op, "anchor: float");
  TF_OpDefinitionBuilderAddOutput(op, "lookup: int64");
  AddLayerAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "table: string");
  TF_OpDefinitionBuilderAddAttr(op, "combiner: string");
  TF_OpDefinitionBuilderAddAttr(op, "dim: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "replica: int >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "training: bool");
  TF_OpDefinitionBuilderAddAttr(op, "model_training: bool");
  TF_OpDefinitionBuilderAddAttr(op, kAbsentAttr);
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaIssue", Create, Compute, Delete<IssueKernel>);
}

}  // namespace persia
