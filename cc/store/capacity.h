// Capacity: the most that a table may hold, over all its shards.
//
//   unlimited
//   rows(count=N): N rows
//   bytes(count=N): as many rows as fit in N bytes, index included

#ifndef PERSIA_CC_STORE_CAPACITY_H_
#define PERSIA_CC_STORE_CAPACITY_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

inline constexpr uint64_t kUnlimitedRows = ~uint64_t{0};

// The number of rows that a shard may hold in `slots` of all slots: that part,
// rounded down, but at least one. `row_bytes` is the memory of a row. `spec`
// must pass CheckCapacity.
uint64_t CapacityRows(const Spec& spec, uint32_t slots, size_t row_bytes);

// Returns InvalidArgument unless `spec` is a valid capacity.
Status CheckCapacity(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_CAPACITY_H_
