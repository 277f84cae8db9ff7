// KeepSlots: leaves rows of other slots out of a page.

#ifndef PERSIA_CC_SHARD_ROWS_OF_SLOTS_H_
#define PERSIA_CC_SHARD_ROWS_OF_SLOTS_H_

#include <vector>

#include "cc/base/keep_only.h"
#include "cc/base/slot_set.h"
#include "cc/service/embedding_service.h"

namespace persia {

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
