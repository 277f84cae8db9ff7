// TableIdentity: identifies one creation of a table. The shards of a cluster
// compare it to tell whether their parts of a table belong together.

#ifndef PERSIA_CC_STORE_TABLE_IDENTITY_H_
#define PERSIA_CC_STORE_TABLE_IDENTITY_H_

#include <cstdint>

namespace persia {

struct TableIdentity {
  // Drawn at random when the table is created, and the same on all shards; a
  // restore assigns a new one. 0: not known.
  uint64_t number = 0;
  // Whether all shards have had their parts at the same time. No trainer uses
  // the table before that, so an incomplete part holds no trained rows.
  bool is_complete = true;
};

inline bool operator==(const TableIdentity& a, const TableIdentity& b) {
  return a.number == b.number && a.is_complete == b.is_complete;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_IDENTITY_H_
