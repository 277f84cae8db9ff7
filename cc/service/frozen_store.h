// FrozenStore: the tables of a store as they were at one moment, while it is in
// use; its requests are counted, so that reading the rows gives them room.
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

  // To be called once the rows are read, or nobody will: tables need not keep
  // them any longer, and those that were dropped end.
  void LetGo() {
    tables.clear();
    rows.clear();
  }

  Pace pace;  // Of whoever reads the rows.
  std::vector<SavedTable> tables;
  std::vector<std::unique_ptr<FrozenRows>> rows;
  std::vector<ClientWindow> clients;
  uint64_t row_count = 0;
};

// Nobody may use the tables or the window meanwhile.
Status Freeze(const Store& store, const UpdateWindow& window,
              FrozenStore* frozen);

// The same, for a save: see Table::FreezeToSave. One that is not whole has all
// rows of a table that is in no save yet.
Status FreezeToSave(const Store& store, const UpdateWindow& window,
                    bool is_whole, FrozenStore* frozen);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FROZEN_STORE_H_
