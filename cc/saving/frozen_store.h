// FrozenStore: a snapshot of a store's tables at one moment, which can be read
// while the store is in use. Reading the rows is throttled while requests
// arrive.
//
// Not thread-safe. See FrozenRows and Pace.

#ifndef PERSIA_CC_SAVING_FROZEN_STORE_H_
#define PERSIA_CC_SAVING_FROZEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/slot_set.h"
#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/saving/pace.h"
#include "cc/store/store.h"
#include "cc/writing/slot_windows.h"

namespace persia {

struct FrozenStore {
  explicit FrozenStore(std::function<uint64_t()> requests)
      : pace(std::move(requests)) {}

  // Releases the snapshot: the tables stop retaining the frozen rows, and
  // dropped tables can be destroyed. Call it once the rows have been read, or
  // when they are no longer needed.
  void LetGo() {
    tables.clear();
    rows.clear();
  }

  Pace pace;  // Throttles the thread that reads the rows.
  std::vector<SavedTable> tables;
  std::vector<std::unique_ptr<FrozenRows>> rows;
  std::vector<ClientWindow> clients;
  uint64_t row_count = 0;
};

// Freezes all rows of all tables. No other thread may use the tables or the
// window during the call.
Status Freeze(const Store& store, const SlotWindows& window,
              FrozenStore* frozen);

// Like Freeze, but begins a save: see Table::FreezeToSave. Freezes all rows of
// `slots` if `is_whole`. Otherwise freezes only those that changed since the
// last committed save, and all rows of the tables that are in no committed
// save.
Status FreezeToSave(const Store& store, const SlotWindows& window,
                    const SlotSet& slots, bool is_whole, FrozenStore* frozen);

}  // namespace persia

#endif  // PERSIA_CC_SAVING_FROZEN_STORE_H_
