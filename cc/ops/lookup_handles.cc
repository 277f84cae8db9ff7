#include "cc/ops/lookup_handles.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "cc/ops/number_tensor.h"

namespace persia {
namespace {

struct Handles {
  std::mutex mutex;
  // All fields below are guarded by `mutex`.
  int64_t last = 0;
  std::unordered_map<int64_t, LookupHandle> by_number;
};

// The handles are never destroyed, since tensors may outlive static objects.
Handles& GlobalHandles() {
  static Handles* const handles = new Handles;
  return *handles;
}

void Forget(int64_t number) {
  Handles& handles = GlobalHandles();
  LookupHandle ended;  // Destroyed after the lock is released.
  std::lock_guard<std::mutex> lock(handles.mutex);
  const auto found = handles.by_number.find(number);
  ended = std::move(found->second);
  handles.by_number.erase(found);
}

}  // namespace

TfTensor NewHandle(LookupHandle handle) {
  Handles& handles = GlobalHandles();
  int64_t number = 0;
  {
    std::lock_guard<std::mutex> lock(handles.mutex);
    number = ++handles.last;
    handles.by_number[number] = std::move(handle);
  }
  return NewNumberTensor(number, [number] { Forget(number); });
}

Result<LookupHandle> FindHandle(int64_t number) {
  Handles& handles = GlobalHandles();
  std::lock_guard<std::mutex> lock(handles.mutex);
  const auto found = handles.by_number.find(number);
  if (found != handles.by_number.end()) return found->second;
  return Status(
      Code::kFailedPrecondition,
      Concat("lookup ", number, " no longer exists: its handle was deleted"));
}

}  // namespace persia
