// UpdateOnce: applies each update of a client once to each slot, although the
// client may send it again.
//
// Thread-safe. Callers are inside the gate.

#ifndef PERSIA_CC_SHARD_UPDATE_ONCE_H_
#define PERSIA_CC_SHARD_UPDATE_ONCE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/journal/journal.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/lost_updates.h"
#include "cc/shard/ownership.h"
#include "cc/store/table.h"
#include "cc/writing/row_writer.h"
#include "cc/writing/slot_windows.h"

namespace persia {

class UpdateOnce {
 public:
  // All must outlive this object. `journal` and `events` may be null.
  struct Subject {
    SlotWindows* windows;
    const Ownership* ownership;
    RowWriter* writer;
    LostUpdates* lost_updates;
    Journal* journal;
    EventLog* events;
  };

  explicit UpdateOnce(const Subject& subject) : subject_(subject) {}

  // Applies an update of rows of `tables`, all of whose slots the shard owns.
  // Sets `*log_end` to the position up to which the log must be durable before
  // the update is acknowledged.
  Status Apply(const std::vector<Table*>& tables, UpdateRequest* request,
               uint64_t* log_end);

  // How many updates had been applied before.
  uint64_t repeated() const {
    return repeated_.load(std::memory_order_relaxed);
  }

 private:
  Status ApplyToSlots(const std::vector<Table*>& tables, const SlotSet& slots,
                      UpdateRequest* request, uint64_t* log_end);
  void NoteLost(const UpdateRequest& request);

  const Subject subject_;
  std::atomic<uint64_t> repeated_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_UPDATE_ONCE_H_
