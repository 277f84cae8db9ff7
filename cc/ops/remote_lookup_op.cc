// The lookup op of an exported graph.
//
// The program that loads such a graph may have no Python, or no persia_tf. So
// everything that the lookup needs is in the op's attributes and, where the
// deployment differs from the export, in environment variables: see
// cc/serving/remote_options.h. If this library is not loaded, TensorFlow's
// error contains only the op's name, so the op's name ends in the library's
// name.
//
// The op is stateless, since TensorFlow would run stateful lookups of a
// function one after the other. However, TensorFlow would fold a stateless
// lookup of constant ids into a constant. To prevent that, `live` is an input
// whose value is not known before the graph runs.

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/ops/absent_rows.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/late_done.h"
#include "cc/ops/ops.h"
#include "cc/serving/remote_tables.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

constexpr char kOpName[] = "PersiaRemoteLookup_of_persia_ops_so";

struct RemoteLookupKernel {
  std::shared_ptr<RemoteTables> tables;
  RemoteLookup lookup;  // The op's settings; each run adds the ids.
};

// Holds what must stay alive from the kernel's compute function until the
// lookup completes.
struct RemoteLookupState {
  TF_OpKernelContext* context;
  std::function<void()> done;
  RemoteLookup lookup;
  TfTensor ids;
  TfTensor rows;
};

// Rounds a float32 attribute to microseconds, so that 0.2 is not 0.20000000298.
double Seconds(float attribute) {
  return std::round(static_cast<double>(attribute) * 1e6) / 1e6;
}

Status GetOptions(TF_OpKernelConstruction* construction,
                  RemoteOptions* options) {
  int64_t hot_rows = 0;
  float timeout = 0;
  float hot_seconds = 0;
  std::string on_failure;
  std::string wire_dtype;
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "cluster", &options->cluster));
  PERSIA_RETURN_IF_ERROR(
      GetAttr(construction, "addresses", &options->addresses));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "timeout_seconds", &timeout));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "on_failure", &on_failure));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "hot_rows", &hot_rows));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "hot_seconds", &hot_seconds));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "wire_dtype", &wire_dtype));
  auto dtype = ParseWireDtype(wire_dtype);
  if (!dtype.ok()) return dtype.status();
  options->timeout_seconds = Seconds(timeout);
  options->zeros_for_outages = on_failure == "default";
  options->hot_rows = static_cast<uint64_t>(hot_rows);
  options->hot_seconds = Seconds(hot_seconds);
  options->wire_dtype = *dtype;
  return Status();
}

Status Configure(TF_OpKernelConstruction* construction,
                 RemoteLookupKernel* kernel) {
  RemoteOptions options;
  std::string table;
  std::string absent;
  int32_t dim = 0;
  PERSIA_RETURN_IF_ERROR(GetOptions(construction, &options));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "absent", &absent));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "table", &table));
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "dim", &dim));
  auto absent_rows = ParseAbsentRows(absent);
  if (!absent_rows.ok()) return absent_rows.status();
  auto tables = FindRemoteTables(options);
  if (!tables.ok()) return tables.status();
  kernel->tables = std::move(*tables);
  const TF_StringView name = TF_OpKernelConstruction_GetName(construction);
  kernel->lookup.op = std::string(name.data, name.len);
  kernel->lookup.table = HashName(table);
  kernel->lookup.dim = static_cast<uint32_t>(dim);
  kernel->lookup.absent = *absent_rows;
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<RemoteLookupKernel>();
  const Status status =
      CatchBadAlloc([&] { return Configure(construction, kernel.get()); });
  return CreateOrFail(construction, status, std::move(kernel));
}

Result<TfTensor> AllocateRows(uint32_t dim, TF_OpKernelContext* context,
                              const TfTensor& ids) {
  std::vector<int64_t> shape;
  for (int d = 0; d < TF_NumDims(ids.get()); ++d) {
    shape.push_back(TF_Dim(ids.get(), d));
  }
  shape.push_back(dim);
  const size_t floats = TF_TensorElementCount(ids.get()) * size_t{dim};
  return AllocateOutput(context, 0, TF_FLOAT, shape, floats * sizeof(float));
}

void Finish(const std::shared_ptr<RemoteLookupState>& state,
            const Status& status) {
  if (!status.ok()) FailOp(state->context, status);
  // Release the tensors before `done`, which ends the op's context.
  const std::function<void()> done = std::move(state->done);
  state->ids.reset();
  state->rows.reset();
  done();
}

Result<std::shared_ptr<RemoteLookupState>> Prepare(
    const RemoteLookupKernel& kernel, TF_OpKernelContext* context,
    const std::function<void()>& done) {
  auto ids = GetInput(context, 0);
  if (!ids.ok()) return ids.status();
  auto rows = AllocateRows(kernel.lookup.dim, context, *ids);
  if (!rows.ok()) return rows.status();
  return std::make_shared<RemoteLookupState>(RemoteLookupState{
      context, done, kernel.lookup, std::move(*ids), std::move(*rows)});
}

void Compute(void* kernel_memory, TF_OpKernelContext* context,
             TF_AsyncOpKernelDoneCallback* tf_done) {
  const auto& kernel = *static_cast<RemoteLookupKernel*>(kernel_memory);
  const std::function<void()> done = CopyDone(tf_done);
  auto prepared = CatchBadAlloc([&] { return Prepare(kernel, context, done); });
  if (!prepared.ok()) {
    FailOp(context, prepared.status());
    return done();
  }
  const std::shared_ptr<RemoteLookupState> state = *prepared;
  state->lookup.ids = Values<const int64_t>(state->ids);
  // Once the op has ended, TensorFlow may delete the kernel.
  const std::shared_ptr<RemoteTables> tables = kernel.tables;
  tables->Lookup(state->lookup, Values<float>(state->rows),
                 [state](const Status& status) { Finish(state, status); });
}

}  // namespace

void RegisterRemoteLookupOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(kOpName);
  TF_OpDefinitionBuilderAddInput(op, "ids: int64");
  TF_OpDefinitionBuilderAddInput(op, "live: float");
  TF_OpDefinitionBuilderAddOutput(op, "rows: float");
  TF_OpDefinitionBuilderAddAttr(op, "table: string");
  TF_OpDefinitionBuilderAddAttr(op, "dim: int >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "cluster: string");
  TF_OpDefinitionBuilderAddAttr(op, "addresses: list(string)");
  TF_OpDefinitionBuilderAddAttr(op, "timeout_seconds: float");
  TF_OpDefinitionBuilderAddAttr(op, "on_failure: {'error', 'default'}");
  TF_OpDefinitionBuilderAddAttr(op, "hot_rows: int >= 0");
  TF_OpDefinitionBuilderAddAttr(op, "hot_seconds: float");
  TF_OpDefinitionBuilderAddAttr(op, "wire_dtype: string");
  TF_OpDefinitionBuilderAddAttr(op, kAbsentAttr);
  RegisterOp(op, /*is_stateful=*/false);
  RegisterAsyncKernel(kOpName, Create, Compute, Delete<RemoteLookupKernel>);
}

}  // namespace persia
