// PERSIA_COUNTERS: declares counters as members of a struct and makes their
// names available at run time, both from one list.
//
// The list is a macro, such as PERSIA_TABLE_COUNTERS in cc/store/table.h. Each
// of its entries is COUNTER(rows), for example, with a comment that describes
// the counter. The struct contains PERSIA_COUNTERS(PERSIA_TABLE_COUNTERS).
//
// That line declares, in the struct, a uint64_t member for each entry,
// initially 0; kCounters, the number of entries; and VisitCounters(visit),
// which calls visit(name, counter) for each entry in the list's order.
// Messages, the C interface and Python read counters through VisitCounters, so
// adding a counter takes one line in the list, besides the code that counts.

#ifndef PERSIA_CC_BASE_COUNTERS_H_
#define PERSIA_CC_BASE_COUNTERS_H_

#include <cstddef>
#include <cstdint>

#define PERSIA_COUNTER_MEMBER(name) uint64_t name = 0;
#define PERSIA_COUNTER_ONE(name) +1
#define PERSIA_COUNTER_VISIT(name) visit(#name, name);

#define PERSIA_COUNTERS(LIST)                                   \
  LIST(PERSIA_COUNTER_MEMBER)                                   \
  static constexpr size_t kCounters = LIST(PERSIA_COUNTER_ONE); \
  template <typename Visit>                                     \
  void VisitCounters(Visit&& visit) {                           \
    LIST(PERSIA_COUNTER_VISIT)                                  \
  }                                                             \
  template <typename Visit>                                     \
  void VisitCounters(Visit&& visit) const {                     \
    LIST(PERSIA_COUNTER_VISIT)                                  \
  }

#endif  // PERSIA_CC_BASE_COUNTERS_H_
