// KeepSlots: leaves rows of other slots out of a page.

#ifndef PERSIA_CC_SHARD_ROWS_OF_SLOTS_H_
#define PERSIA_CC_SHARD_ROWS_OF_SLOTS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cc/base/slot_set.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Removes the groups of `each` elements that do not stay.
template <typename T>
void KeepOnly(const std::vector<bool>& stays, size_t each,
              std::vector<T>* elements) {
  size_t kept = 0;
  for (size_t i = 0; i < stays.size(); ++i) {
    if (!stays[i]) continue;
    std::copy_n(elements->begin() + static_cast<ptrdiff_t>(i * each), each,
                elements->begin() + static_cast<ptrdiff_t>(kept * each));
    ++kept;
  }
  elements->resize(kept * each);
}

// Leaves out the rows of a reply whose slots are not in `slots`.
inline void KeepSlots(const SlotSet& slots, ExportRequest* reply) {
  if (slots.all()) return;
  RowPage& page = reply->page;
  std::vector<bool> stays;
  for (const int64_t id : page.ids) stays.push_back(slots[SlotOf(id)]);
  KeepOnly(stays, 1, &page.ids);
  KeepOnly(stays, reply->dim, &page.weights);
  KeepOnly(stays, reply->state_size, &page.state);
  if (!page.uses.empty()) KeepOnly(stays, 1, &page.uses);
}

}  // namespace persia

#endif  // PERSIA_CC_SHARD_ROWS_OF_SLOTS_H_
