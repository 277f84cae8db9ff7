// TableIdentity: which making of a table this is. By it the shards of a cluster
// know whether their parts of a table belong together.

#ifndef PERSIA_CC_STORE_TABLE_IDENTITY_H_
#define PERSIA_CC_STORE_TABLE_IDENTITY_H_

#include <cstdint>

namespace persia {

struct TableIdentity {
  // Drawn at random when the table is made, and the same on all of its shards;
  // a restore gives another one. 0: it is not known.
  uint64_t number = 0;
  // Whether all shards have had their part at once. Nobody trains the table
  // before, so a part that is not complete holds nothing that can be missed.
  bool is_complete = true;
};

inline bool operator==(const TableIdentity& a, const TableIdentity& b) {
  return a.number == b.number && a.is_complete == b.is_complete;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_IDENTITY_H_
