// PersiaTakeMessage(place) -> message
//
// Takes a message out of a box: see cc/columns/message_boxes.h. `place` has the
// numbers of the box and of the message. The tensor holds the message's own
// memory. The op never blocks. It fails with kNotFound if the message was
// taken.

#include <memory>
#include <utility>

#include "cc/columns/message_boxes.h"
#include "cc/ops/kernel_util.h"
#include "cc/ops/ops.h"
#include "tensorflow/c/ops.h"

namespace persia {
namespace {

struct TakeMessageKernel {};

void* Create(TF_OpKernelConstruction* /*construction*/) {
  return new TakeMessageKernel;
}

void Free(void* /*data*/, size_t /*size*/, void* message) {
  delete static_cast<HeldMessage*>(message);
}

// TensorFlow copies memory that is not aligned, and frees it at once.
TfTensor NewTensor(HeldMessage held) {
  auto* const message = new HeldMessage(std::move(held));
  const ConstBytes bytes = message->bytes();
  const auto count = static_cast<int64_t>(bytes.size());
  return TfTensor(
      TF_NewTensor(TF_UINT8, &count, 1, const_cast<uint8_t*>(bytes.data()),
                   bytes.size(), Free, message),
      TF_DeleteTensor);
}

Status Take(TF_OpKernelContext* context) {
  auto place = GetInput(context, 0);
  if (!place.ok()) return place.status();
  const Span<const int64_t> numbers = Values<const int64_t>(*place);
  if (numbers.size() != 2) {
    return InvalidArgument("place must hold two values, received ",
                           numbers.size());
  }
  auto message = TakeMessage(numbers[0], numbers[1]);
  if (!message.ok()) return message.status();
  return SetOutput(context, 0, NewTensor(std::move(*message)));
}

void Compute(void* /*kernel*/, TF_OpKernelContext* context) {
  RunKernel(context, [&] { return Take(context); });
}

}  // namespace

void RegisterTakeMessageOp() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("PersiaTakeMessage");
  TF_OpDefinitionBuilderAddInput(op, "place: int64");
  TF_OpDefinitionBuilderAddOutput(op, "message: uint8");
  // A message can be taken only once.
  RegisterOp(op, /*is_stateful=*/true);
  RegisterKernel("PersiaTakeMessage", Create, Compute,
                 Delete<TakeMessageKernel>);
}

}  // namespace persia
