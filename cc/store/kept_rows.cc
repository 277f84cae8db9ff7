#include "cc/store/kept_rows.h"

#include <cstring>
#include <new>

namespace persia {

void KeptRows::Add(int64_t id, const std::byte* row) {
  try {
    const auto [place, is_new] = rows_.try_emplace(HashId(id), Kept{id, {}});
    if (!is_new || row == nullptr) return;
    place->second.row.reset(new std::byte[row_bytes_]);
    std::memcpy(place->second.row.get(), row, row_bytes_);
  } catch (const std::bad_alloc&) {
    failed_ = true;
    rows_.clear();
  }
}

}  // namespace persia
