// PersiaTakeBatch(place; formats, dtypes) -> columns
//
// Takes rows out of a box (see cc/columns/batch_boxes.h), and makes tensors of
// their columns. `place` has the number of the box, that of the batch, that of
// its first row to take, and how many rows to take. `formats` are the columns'
// types, as ParseColumnType takes them. Of a column of lists, two tensors are
// made: the values of all lists, and the row splits, int64. The op copies, so
// that a tensor that lives long keeps no others' memory. It never blocks. It
// fails with kNotFound if the batch was taken.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/columns/batch_boxes.h"
#include "cc/columns/batch_columns.h"
#include "cc/columns/column_type.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/ops.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_tstring.h"

namespace persia {
namespace {

struct TakeBatchKernel {
  std::vector<ColumnType> types;
};

Status Configure(TF_OpKernelConstruction* construction,
                 TakeBatchKernel* kernel) {
  std::vector<std::string> formats;
  PERSIA_RETURN_IF_ERROR(GetAttr(construction, "formats", &formats));
  for (const std::string& format : formats) {
    auto type = ParseColumnType(format);
    if (!type.ok()) return type.status();
    kernel->types.push_back(*type);
  }
  return Status();
}

void* Create(TF_OpKernelConstruction* construction) {
  auto kernel = std::make_unique<TakeBatchKernel>();
  const Status status = Configure(construction, kernel.get());
  return CreateOrFail(construction, status, std::move(kernel));
}

// The outputs of one run of the op, which are made in their order.
class Outputs {
 public:
  explicit Outputs(TF_OpKernelContext* context) : context_(context) {}

  // Makes the next output, a vector of elements of `each` bytes.
  Result<TfTensor> Next(size_t count, size_t each) {
    if (next_ == TF_NumOutputs(context_)) {
      return InvalidArgument("dtypes are fewer than the formats need");
    }
    const TF_DataType dtype = TF_ExpectedOutputDataType(context_, next_);
    const size_t size =
        dtype == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(dtype);
    if (size != each) {
      return InvalidArgument("dtypes[", next_, "] has elements of ", size,
                             " bytes, but those of its column have ", each);
    }
    return AllocateOutput(context_, next_++, dtype,
                          {static_cast<int64_t>(count)}, count * each);
  }

  // Checks that no output is left.
  Status Finish() const {
    if (next_ == TF_NumOutputs(context_)) return Status();
    return InvalidArgument("dtypes are more than the formats need");
  }

 private:
  TF_OpKernelContext* const context_;
  int next_ = 0;
};

Status PutFixed(const BatchColumn& column, size_t width, Outputs* outputs) {
  auto tensor = outputs->Next(column.count, width);
  if (!tensor.ok()) return tensor.status();
  std::copy_n(column.values, column.count * width,
              static_cast<uint8_t*>(TF_TensorData(tensor->get())));
  return Status();
}

Status PutBits(const BatchColumn& column, Outputs* outputs) {
  auto tensor = outputs->Next(column.count, sizeof(bool));
  if (!tensor.ok()) return tensor.status();
  const Span<bool> to = Values<bool>(*tensor);
  for (size_t i = 0; i < column.count; ++i) to[i] = column.bits[i];
  return Status();
}

Status PutTexts(const BatchColumn& column, Outputs* outputs) {
  auto tensor = outputs->Next(column.count, sizeof(TF_TString));
  if (!tensor.ok()) return tensor.status();
  const auto* const from = reinterpret_cast<const char*>(column.values);
  // TensorFlow has made empty strings.
  const Span<TF_TString> to = Values<TF_TString>(*tensor);
  uint64_t begin = column.texts[0];
  for (size_t i = 0; i < column.count; ++i) {
    const uint64_t end = column.texts[i + 1];
    TF_TString_Copy(&to[i], from + begin, end - begin);
    begin = end;
  }
  return Status();
}

Status PutSplits(const BatchColumn& column, Outputs* outputs) {
  auto tensor = outputs->Next(column.rows + 1, sizeof(int64_t));
  if (!tensor.ok()) return tensor.status();
  const Span<int64_t> to = Values<int64_t>(*tensor);
  for (size_t i = 0; i <= column.rows; ++i) {
    to[i] = static_cast<int64_t>(column.lists[i] - column.lists[0]);
  }
  return Status();
}

Status Put(const BatchColumn& column, const ColumnType& type,
           Outputs* outputs) {
  switch (type.values) {
    case ColumnType::Values::kFixed:
      PERSIA_RETURN_IF_ERROR(PutFixed(column, type.width, outputs));
      break;
    case ColumnType::Values::kBits:
      PERSIA_RETURN_IF_ERROR(PutBits(column, outputs));
      break;
    case ColumnType::Values::kTexts:
      PERSIA_RETURN_IF_ERROR(PutTexts(column, outputs));
      break;
  }
  return type.list_width == 0 ? Status() : PutSplits(column, outputs);
}

Status PutAll(const TakeBatchKernel& kernel, TF_OpKernelContext* context) {
  auto place = GetInput(context, 0);
  if (!place.ok()) return place.status();
  const Span<const int64_t> numbers = Values<const int64_t>(*place);
  if (numbers.size() != 4) {
    return InvalidArgument("place must hold four values, received ",
                           numbers.size());
  }
  auto batch = TakeBatch(numbers[0], numbers[1]);
  if (!batch.ok()) return batch.status();
  auto columns =
      ColumnsOf((*batch)->array(), numbers[2], numbers[3], kernel.types);
  if (!columns.ok()) return columns.status();
  Outputs outputs(context);
  for (size_t i = 0; i < columns->size(); ++i) {
    PERSIA_RETURN_IF_ERROR(Put((*columns)[i], kernel.types[i], &outputs));
  }
  return outputs.Finish();
}

void Compute(void* kernel, TF_OpKernelContext* context) {
  RunKernel(context, [&] {
    return PutAll(*static_cast<TakeBatchKernel*>(kernel), context);
  });
}

}  // namespace

void RegisterTakeBatchOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaTakeBatch");
  TF_OpDefinitionBuilderAddInput(op, "place: int64");
  TF_OpDefinitionBuilderAddOutput(op, "columns: dtypes");
  TF_OpDefinitionBuilderAddAttr(op, "formats: list(string) >= 1");
  TF_OpDefinitionBuilderAddAttr(op, "dtypes: list(type) >= 1");
  // What is taken is gone.
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaTakeBatch", Create, Compute, Delete<TakeBatchKernel>);
}

}  // namespace persia
