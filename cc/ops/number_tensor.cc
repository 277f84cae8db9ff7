#include "cc/ops/number_tensor.h"

#include <utility>

namespace persia {
namespace {

// The alignment that TensorFlow requires of a tensor's memory. TensorFlow would
// copy memory of a lower alignment and free the original immediately, which
// would call `on_free` too early.
constexpr size_t kTensorAlignment = 64;

struct Owned {
  alignas(kTensorAlignment) int64_t number;
  std::function<void()> on_free;
};

void Free(void* /*data*/, size_t /*size*/, void* owned) {
  const std::unique_ptr<Owned> ended(static_cast<Owned*>(owned));
  ended->on_free();
}

}  // namespace

TfTensor NewNumberTensor(int64_t number, std::function<void()> on_free) {
  auto* const owned = new Owned{number, std::move(on_free)};
  return TfTensor(TF_NewTensor(TF_INT64, nullptr, 0, &owned->number,
                               sizeof(int64_t), Free, owned),
                  TF_DeleteTensor);
}

}  // namespace persia
