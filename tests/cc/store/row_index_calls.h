// Calls of a row index, with many ids.

#ifndef PERSIA_TESTS_CC_STORE_ROW_INDEX_CALLS_H_
#define PERSIA_TESTS_CC_STORE_ROW_INDEX_CALLS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cc/store/row_index.h"

namespace persia {

using Ids = std::vector<int64_t>;
using Rows = std::vector<RowIndex::Row>;

inline Rows FindAll(const RowIndex& index, const Ids& ids) {
  Rows rows(ids.size(), 12345);
  index.Find(ids, rows.data());
  return rows;
}

// Inserts ids `begin` to `end` - 1, each with itself as its row.
inline void InsertRange(RowIndex* index, RowIndex::Row begin,
                        RowIndex::Row end) {
  for (RowIndex::Row id = begin; id < end; ++id) index->Insert(id, id);
}

// How often a walk in pages of `page` visits each id; `between` is called
// after each page.
template <typename Between>
std::unordered_map<int64_t, int> Visits(const RowIndex& index, size_t page,
                                        const Between& between) {
  std::unordered_map<int64_t, int> visits;
  uint64_t hash = 0;
  do {
    hash = index.Walk(hash, page,
                      [&](int64_t id, RowIndex::Row) { ++visits[id]; });
    between();
  } while (hash != 0);
  return visits;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_ROW_INDEX_CALLS_H_
