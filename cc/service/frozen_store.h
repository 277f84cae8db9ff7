// FrozenStore: a snapshot of a store's tables at one moment, which can be read
// while the store is in use. Reading the rows is throttled while requests
// arrive.
//
// Not thread-safe. See FrozenRows and Pace.

#ifndef PERSIA_CC_SERVICE_FROZEN_STORE_H_
#define PERSIA_CC_SERVICE_FROZEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/client_window.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/service/pace.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {

struct FrozenStore {
  explicit FrozenStore(std::function<uint64_t()> requests)
      : pace(std::move(requests)) {}

  // Releases the snapshot. Call it once the rows have been read, or if they
  // will not be: the tables then stop retaining the frozen rows, and dropped
  // tables can be destroyed.
  void LetGo() {
    tables.clear();
    rows.clear();
  }

  Pace pace;  // Of the thread that reads the rows.
  std::vector<SavedTable> tables;
  std::vector<std::unique_ptr<FrozenRows>> rows;
  std::vector<ClientWindow> clients;
  uint64_t row_count = 0;
};

// Freezes all rows of all tables. No other thread may use the tables or the
// window meanwhile.
Status Freeze(const Store& store, const UpdateWindow& window,
              FrozenStore* frozen);

// The same, for a save: see Table::FreezeToSave. If the save is not whole, a
// table that is in no committed save yet is still frozen whole.
Status FreezeToSave(const Store& store, const UpdateWindow& window,
                    bool is_whole, FrozenStore* frozen);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FROZEN_STORE_H_
