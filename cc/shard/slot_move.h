// MoveSlots: takes slots over from the shard that owns them, as
// hand_over_request.h and move_request.h describe.

#ifndef PERSIA_CC_SHARD_SLOT_MOVE_H_
#define PERSIA_CC_SHARD_SLOT_MOVE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/membership.h"
#include "cc/shard/move_control.h"
#include "cc/shard/row_placer.h"
#include "cc/shard/table_changer.h"

namespace persia {

// The parts of the shard that takes slots over. All must outlive the call.
struct MoveSubject {
  ShardSlots slots;
  Membership* membership;
  RowPlacer* placer;
  TableChanger* changer;
  std::function<uint64_t()> requests;  // How many for rows there were so far.
  std::function<void()> on_change;     // Called after each change of rows.
};

// Takes over the slots that `move` names; `source` is the shard that owns them.
// Blocks until all have moved, the move has failed, or `control` stops it.
// Slots that were not handed over stay where they are, and leave no row here.
Status MoveSlots(const MoveSubject& subject, const MoveRequest& move,
                 std::unique_ptr<EmbeddingService> source,
                 MoveControl* control);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SLOT_MOVE_H_
