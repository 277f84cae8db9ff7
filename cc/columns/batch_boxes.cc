#include "cc/columns/batch_boxes.h"

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace persia {
namespace {

struct Entry {
  std::shared_ptr<const HeldBatch> batch;
  int64_t times;  // For which it can be taken.
};

struct Box {
  int64_t put = 0;
  bool is_finished = false;
  std::map<int64_t, Entry> batches;
};

struct Boxes {
  std::mutex mutex;
  int64_t opened = 0;                      // Guarded by mutex.
  std::unordered_map<int64_t, Box> boxes;  // Guarded by mutex.
};

Boxes& AllBoxes() {
  // Never destroyed: threads may still take batches while the process exits.
  static auto* const boxes = new Boxes;
  return *boxes;
}

}  // namespace

int64_t OpenBatchBox() {
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  all.boxes[++all.opened];
  return all.opened;
}

Result<int64_t> PutBatch(int64_t box, HeldBatch batch, int64_t times) {
  auto held = std::make_shared<const HeldBatch>(std::move(batch));
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.boxes.find(box);
  if (found == all.boxes.end()) {
    return Status(Code::kNotFound, Concat("batch box ", box, " is closed"));
  }
  const int64_t number = found->second.put++;
  found->second.batches.emplace(number, Entry{std::move(held), times});
  return number;
}

Result<std::shared_ptr<const HeldBatch>> TakeBatch(int64_t box,
                                                   int64_t number) {
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.boxes.find(box);
  if (found != all.boxes.end()) {
    auto& batches = found->second.batches;
    const auto entry = batches.find(number);
    if (entry != batches.end()) {
      auto batch = entry->second.batch;
      if (--entry->second.times <= 0) batches.erase(entry);
      if (found->second.is_finished && batches.empty()) all.boxes.erase(found);
      return batch;
    }
  }
  return Status(Code::kNotFound,
                Concat("batch ", number, " of box ", box,
                       " is not there: it was taken, or the box is closed"));
}

void FinishBatchBox(int64_t box) {
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.boxes.find(box);
  if (found == all.boxes.end()) return;
  found->second.is_finished = true;
  if (found->second.batches.empty()) all.boxes.erase(found);
}

void CloseBatchBox(int64_t box) {
  Boxes& all = AllBoxes();
  std::unordered_map<int64_t, Box>::node_type left;  // Freed without the lock.
  const std::lock_guard lock(all.mutex);
  left = all.boxes.extract(box);
}

}  // namespace persia
