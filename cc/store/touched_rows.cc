#include "cc/store/touched_rows.h"

#include <algorithm>

namespace persia {
namespace {

constexpr size_t kLeastRoom = 64;

// The list of ids may grow to kMostIdsARow times the number of rows, or to
// kShortList if that is more.
constexpr size_t kMostIdsARow = 2;
constexpr size_t kShortList = 4096;

}  // namespace

void TouchedRows::Add(const ChangedRows& changes) {
  Noting([&] {
    rows_.AddAll(changes.set());
    std::vector<int64_t> erased;
    changes.AppendErased(&erased);
    for (const int64_t id : erased) Push(id);
  });
}

void TouchedRows::Take(size_t count, std::vector<int64_t>* ids) {
  if (taking_.empty()) taking_.swap(ids_);
  count = std::min(count, taking_.size());
  const auto first = taking_.end() - static_cast<ptrdiff_t>(count);
  ids->insert(ids->end(), first, taking_.end());
  taking_.erase(first, taking_.end());
}

void TouchedRows::MakeRoom() {
  const size_t most = std::max(kShortList, kMostIdsARow * index_.size());
  if (ids_.size() >= most) {
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    if (ids_.size() > most / 2) Lose();
    return;
  }
  const size_t room = std::max(kLeastRoom, 2 * ids_.capacity());
  metered_.Grow((room - ids_.capacity()) * sizeof(int64_t),
                [&] { ids_.reserve(room); });
}

// Marks the record as lost, and frees its memory at once, since no more ids are
// recorded.
void TouchedRows::Lose() {
  lost_ = true;
  std::vector<int64_t>().swap(ids_);
  std::vector<int64_t>().swap(taking_);
  metered_ = MeteredBytes(nullptr);
}

size_t TouchedRows::bytes() const {
  return rows_.bytes() +
         (ids_.capacity() + taking_.capacity()) * sizeof(int64_t);
}

}  // namespace persia
