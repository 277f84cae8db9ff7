#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/ops/kernel_util.h"
#include "cc/ops/layer_inputs.h"
#include "cc/ops/lookup_attrs.h"
#include "cc/ops/number_tensor.h"
#include "cc/ops/ops.h"
#include "cc/pipeline/session.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct PrefetchKernel {
  std::string session;
  StreamOptions options;
  // The layers' settings; each run adds the ids.
  std::vector<PrefetchIds> layers;
};

Result<LookupUse> LookupUseOf(int32_t number) {
  const auto use = static_cast<LookupUse>(number);
  if (use <= LookupUse::kReading) return use;
  return InvalidArgument("uses must be 0 to 2, received ", number);
}

Status Configure(TF_OpKernelConstruction* construction,
                 PrefetchKernel* kernel) {
  LookupAttrs attrs;
  std::vector<bool> trainable;
  std::vector<int32_t> uses;
  StreamOptions* const options = &kernel->options;
  PERSIA_RETURN_IF_ERROR(GetLookupAttrs(construction, &attrs));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "trainable", &trainable));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "uses", &uses));
  PERSIA_RETURN_IF_ERROR(
      GetAttr(construction, "staleness", &options->staleness));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "replicas", &options->replicas));
  PERSIA_RETURN_IF_ERROR(CheckOnePerLayer(
      attrs.layers, "tables, combiners, dims, trainable, absents and uses",
      {attrs.tables.size(), attrs.combiners.size(), attrs.dims.size(),
       trainable.size(), attrs.absents.size(), uses.size()}));
  kernel->session = attrs.session;
  for (size_t i = 0; i < attrs.layers.size(); ++i) {
    PrefetchIds layer;
    PERSIA_RETURN_IF_ERROR(SetLayer(attrs, i, &layer));
    auto use = LookupUseOf(uses[i]);
    if (!use.ok()) return use.status();
    layer.use = *use;
    layer.trainable = trainable[i];
    kernel->layers.push_back(std::move(layer));
  }
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<PrefetchKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

Result<std::vector<PrefetchIds>> TakeIds(const PrefetchKernel& kernel,
                                         TF_OpKernelContext* context) {
  std::vector<PrefetchIds> layers = kernel.layers;
  const size_t count = layers.size();
  for (size_t i = 0; i < count; ++i) {
    auto inputs = TakeInputs(context, 1, count, i, &layers[i]);
    if (!inputs.ok()) return inputs.status();
    layers[i].owners.push_back(
        std::make_shared<const LayerInputs>(std::move(*inputs)));
  }
  return layers;
}

// Opens a stream and outputs its number in a tensor, which the iterator over
// the dataset holds. When that tensor is freed, the stream is closed.
Result<StreamId> OpenStream(const PrefetchKernel& kernel, Session* session,
                            TF_OpKernelContext* context) {
  auto opened = session->OpenStream(kernel.options);
  if (!opened.ok()) return opened.status();
  const TfTensor tensor = NewNumberTensor(
      static_cast<int64_t>(*opened), [name = kernel.session, stream = *opened] {
        auto session = FindSession(name);
        if (session.ok()) (*session)->CloseStream(stream);
      });
  PERSIA_RETURN_IF_ERROR(SetOutput(context, 0, tensor));
  return *opened;
}

Result<StreamId> TakeStream(const PrefetchKernel& kernel, Session* session,
                            TF_OpKernelContext* context) {
  auto number = GetScalar<int64_t>(context, 0, "stream");
  if (!number.ok()) return number.status();
  if (*number == 0) return OpenStream(kernel, session, context);
  auto tensor = GetInput(context, 0);
  if (!tensor.ok()) return tensor.status();
  PERSIA_RETURN_IF_ERROR(SetOutput(context, 0, *tensor));
  return static_cast<StreamId>(*number);
}

Status Prefetch(const PrefetchKernel& kernel, TF_OpKernelContext* context) {
  auto session = FindSession(kernel.session);
  if (!session.ok()) return session.status();
  auto stream = TakeStream(kernel, session->get(), context);
  if (!stream.ok()) return stream.status();
  auto layers = TakeIds(kernel, context);
  if (!layers.ok()) return layers.status();
  return (*session)->Prefetch(*stream, std::move(*layers));
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  RunKernel(context, [&] {
    return Prefetch(*static_cast<PrefetchKernel*>(kernel), context);
  });
}

}  // namespace

void RegisterPrefetchOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaPrefetch");
  TF_OpDefinitionBuilderAddInput(op, "stream: int64");
  TF_OpDefinitionBuilderAddInput(op, "ids: N * int64");
  TF_OpDefinitionBuilderAddInput(op, "splits: N * int32");
  TF_OpDefinitionBuilderAddOutput(op, "next_stream: int64");
  TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
  AddLookupAttrs(op);
  TF_OpDefinitionBuilderAddAttr(op, "trainable: list(bool)");
  TF_OpDefinitionBuilderAddAttr(op, "uses: list(int)");
  TF_OpDefinitionBuilderAddAttr(op, "staleness: int >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "replicas: int >= 1");
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaPrefetch", Create, Compute, Delete<PrefetchKernel>);
}

}  // namespace persia
