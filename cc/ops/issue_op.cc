#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<LayerCall> calls;  // The layers' settings; each run adds the ids.
};

Result<LayerCall> CallOf(const std::string& layer, const std::string& table,
                         const std::string& combiner, int32_t dim,
                         const std::string& absent) {
  LayerCall call;
  auto parsed = ParseCombiner(combiner);
  if (!parsed.ok()) return parsed.status();
  call.combiner = *parsed;
  auto absent_rows = ParseAbsentRows(absent);
  if (!absent_rows.ok()) return absent_rows.status();
  call.absent = *absent_rows;
  call.layer = layer;
  call.table = HashName(table);
  call.dim = static_cast<uint32_t>(dim);
  return call;
}

Status Configure(TF_OpKernelConstruction* construction, IssueKernel* kernel) {
  LayerAttrs attrs;
  std::vector<std::string> tables, combiners, absents;
  std::vector<int32_t> dims;
  int32_t replica = 0;
  bool training = false, model_training = false;
  PERSIA_RETURN_IF_ERROR(GetLayerAttrs(construction, &attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "tables", &tables));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "combiners", &combiners));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dims", &dims));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "absents", &absents));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "replica", &replica));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "training", &training));
  PERSIA_RETURN_IF_ERROR(
      GetAttr(construction, "model_training", &model_training));
  PERSIA_RETURN_IF_ERROR(CheckOnePerLayer(attrs, "tables", tables));
  PERSIA_RETURN_IF_ERROR(CheckOnePerLayer(attrs, "combiners", combiners));
  PERSIA_RETURN_IF_ERROR(CheckOnePerLayer(attrs, "dims", dims));
  PERSIA_RETURN_IF_ERROR(CheckOnePerLayer(attrs, "absents", absents));
  kernel->session = attrs.session;
  for (size_t i = 0; i < attrs.layers.size(); ++i) {
    auto call =
        CallOf(attrs.layers[i], tables[i], combiners[i], dims[i], absents[i]);
    if (!call.ok()) return call.status();
    call->replica = replica;
    call->training = training;
    call->model_training = model_training;
    kernel->calls.push_back(std::move(*call));
  }
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<IssueKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

// Issues the lookup of layer `i`.
Result<Issued> IssueOne(const IssueKernel& kernel, Session* session, size_t i,
                        TF_OpKernelContext* context) {
  LayerCall call = kernel.calls[i];
  auto ids = GetInput(context, static_cast<int>(i));
  if (!ids.ok()) return ids.status();
  auto splits = GetInput(context, static_cast<int>(kernel.calls.size() + i));
  if (!splits.ok()) return splits.status();
  auto bags = BagOffsets::Of(call.combiner, *ids, std::move(*splits));
  if (!bags.ok()) return bags.status();
  call.ids = Values<const int64_t>(*ids);
  call.bag_offsets = bags->offsets();
  return session->Issue(call);
}

Status Issue(const IssueKernel& kernel, TF_OpKernelContext* context) {
  auto session = FindSession(kernel.session);
  if (!session.ok()) return session.status();
  LookupHandle handle;
  for (size_t i = 0; i < kernel.calls.size(); ++i) {
    auto issued = IssueOne(kernel, session->get(), i, context);
    if (!issued.ok()) return issued.status();
    handle.lookups.push_back(std::move(*issued));
  }
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
  AddLayerAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "tables: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "combiners: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "dims: list(int)");
  TF_OpDefinitionBuilderAddAttr(op, "absents: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "replica: int >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "training: bool");
  TF_OpDefinitionBuilderAddAttr(op, "model_training: bool");
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaIssue", Create, Compute, Delete<IssueKernel>);
}

}  // namespace persia
