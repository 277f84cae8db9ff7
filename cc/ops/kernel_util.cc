#include "cc/ops/kernel_util.h"

namespace persia {
namespace {

Status FromTf(const TfStatus& status) {
  if (TF_GetCode(status.get()) == TF_OK) return Status();
  return Status(static_cast<Code>(TF_GetCode(status.get())),
                TF_Message(status.get()));
}

struct AttrSize {
  int32_t list = 0;  // The number of entries, if the attribute is a list.
  int32_t bytes = 0;
};

Status GetSize(TF_OpKernelConstruction* construction, const char* name,
               AttrSize* size) {
  const TfStatus status = NewTfStatus();
  TF_OpKernelConstruction_GetAttrSize(construction, name, &size->list,
                                      &size->bytes, status.get());
  return FromTf(status);
}

}  // namespace

TfStatus NewTfStatus() { return TfStatus(TF_NewStatus(), TF_DeleteStatus); }

void SetTfStatus(const Status& status, TF_Status* out) {
  TF_SetStatus(out, static_cast<TF_Code>(status.code()),
               status.message().c_str());
}

void FailOp(TF_OpKernelContext* context, const Status& status) {
  const TfStatus tf_status = NewTfStatus();
  SetTfStatus(status, tf_status.get());
  TF_OpKernelContext_Failure(context, tf_status.get());
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::string* value) {
  AttrSize size;
  PERSIA_RETURN_IF_ERROR(GetSize(construction, name, &size));
  const TfStatus status = NewTfStatus();
  value->resize(size.bytes);
  TF_OpKernelConstruction_GetAttrString(construction, name, value->data(),
                                        value->size(), status.get());
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               int32_t* value) {
  const TfStatus status = NewTfStatus();
  TF_OpKernelConstruction_GetAttrInt32(construction, name, value, status.get());
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               int64_t* value) {
  const TfStatus status = NewTfStatus();
  TF_OpKernelConstruction_GetAttrInt64(construction, name, value, status.get());
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               float* value) {
  const TfStatus status = NewTfStatus();
  TF_OpKernelConstruction_GetAttrFloat(construction, name, value, status.get());
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               bool* value) {
  const TfStatus status = NewTfStatus();
  TF_Bool tf_value = 0;
  TF_OpKernelConstruction_GetAttrBool(construction, name, &tf_value,
                                      status.get());
  *value = tf_value != 0;
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<std::string>* values) {
  AttrSize size;
  PERSIA_RETURN_IF_ERROR(GetSize(construction, name, &size));
  const TfStatus status = NewTfStatus();
  std::string storage(size.bytes, '\0');
  std::vector<char*> texts(size.list);
  std::vector<size_t> lengths(size.list);
  TF_OpKernelConstruction_GetAttrStringList(
      construction, name, texts.data(), lengths.data(), size.list,
      storage.data(), storage.size(), status.get());
  PERSIA_RETURN_IF_ERROR(FromTf(status));
  values->clear();
  for (int32_t i = 0; i < size.list; ++i) {
    values->emplace_back(texts[i], lengths[i]);
  }
  return Status();
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<int32_t>* values) {
  AttrSize size;
  PERSIA_RETURN_IF_ERROR(GetSize(construction, name, &size));
  const TfStatus status = NewTfStatus();
  values->resize(size.list);
  TF_OpKernelConstruction_GetAttrInt32List(construction, name, values->data(),
                                           size.list, status.get());
  return FromTf(status);
}

Status GetAttr(TF_OpKernelConstruction* construction, const char* name,
               std::vector<bool>* values) {
  AttrSize size;
  PERSIA_RETURN_IF_ERROR(GetSize(construction, name, &size));
  const TfStatus status = NewTfStatus();
  std::vector<TF_Bool> tf_values(size.list);
  TF_OpKernelConstruction_GetAttrBoolList(construction, name, tf_values.data(),
                                          size.list, status.get());
  values->assign(tf_values.begin(), tf_values.end());
  return FromTf(status);
}

Result<TfTensor> GetInput(TF_OpKernelContext* context, int index) {
  const TfStatus status = NewTfStatus();
  TF_Tensor* tensor = nullptr;
  TF_GetInput(context, index, &tensor, status.get());
  const Status outcome = FromTf(status);
  if (!outcome.ok()) return outcome;
  return TfTensor(tensor, TF_DeleteTensor);
}

Result<TfTensor> AllocateOutput(TF_OpKernelContext* context, int index,
                                TF_DataType dtype,
                                const std::vector<int64_t>& shape,
                                size_t bytes) {
  const TfStatus status = NewTfStatus();
  TF_Tensor* tensor =
      TF_AllocateOutput(context, index, dtype, shape.data(),
                        static_cast<int>(shape.size()), bytes, status.get());
  const Status outcome = FromTf(status);
  if (!outcome.ok()) return outcome;
  return TfTensor(tensor, TF_DeleteTensor);
}

Status SetOutput(TF_OpKernelContext* context, int index,
                 const TfTensor& tensor) {
  const TfStatus status = NewTfStatus();
  TF_SetOutput(context, index, tensor.get(), status.get());
  return FromTf(status);
}

}  // namespace persia
