#include "cc/columns/message_boxes.h"

#include <map>
#include <mutex>
#include <unordered_map>

namespace persia {
namespace {

struct Box {
  int64_t put = 0;
  std::map<int64_t, HeldMessage> messages;
};

struct Boxes {
  std::mutex mutex;
  int64_t opened = 0;                      // Guarded by mutex.
  std::unordered_map<int64_t, Box> boxes;  // Guarded by mutex.
};

Boxes& AllBoxes() {
  // Never destroyed: threads may still take messages while the process exits.
  static auto* const boxes = new Boxes;
  return *boxes;
}

}  // namespace

Status HeldMessage::Check() const {
  if (array_.release == nullptr || array_.n_buffers != 2 ||
      array_.n_children != 0 || array_.null_count > 0 || array_.length < 0 ||
      array_.offset < 0 || array_.buffers[1] == nullptr) {
    return InvalidArgument("a message must be an array of bytes without nulls");
  }
  return Status();
}

int64_t OpenMessageBox() {
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  all.boxes[++all.opened];
  return all.opened;
}

Result<int64_t> PutMessage(int64_t box, HeldMessage message) {
  PERSIA_RETURN_IF_ERROR(message.Check());
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.boxes.find(box);
  if (found == all.boxes.end()) {
    return Status(Code::kNotFound, Concat("message box ", box, " is closed"));
  }
  const int64_t number = found->second.put++;
  found->second.messages.emplace(number, std::move(message));
  return number;
}

Result<HeldMessage> TakeMessage(int64_t box, int64_t number) {
  Boxes& all = AllBoxes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.boxes.find(box);
  if (found != all.boxes.end()) {
    auto node = found->second.messages.extract(number);
    if (!node.empty()) return std::move(node.mapped());
  }
  return Status(Code::kNotFound,
                Concat("message ", number, " of box ", box,
                       " is not there: it was taken, or the box is closed"));
}

void CloseMessageBox(int64_t box) {
  Boxes& all = AllBoxes();
  std::unordered_map<int64_t, Box>::node_type left;  // Freed without the lock.
  const std::lock_guard lock(all.mutex);
  left = all.boxes.extract(box);
}

}  // namespace persia
