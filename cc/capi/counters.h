// CopyCounters: converts a struct's counters to the form of the C interface.

#ifndef PERSIA_CC_CAPI_COUNTERS_H_
#define PERSIA_CC_CAPI_COUNTERS_H_

#include <cstdint>

#include "cc/base/counters.h"
#include "cc/capi/persia.h"

namespace persia {

// `Stats` is a struct whose counters PERSIA_COUNTERS declares.
template <typename Stats>
void CopyCounters(const Stats& from, persia_counters* to) {
  static_assert(Stats::kCounters <= PERSIA_MOST_COUNTERS,
                "raise PERSIA_MOST_COUNTERS, in Python too");
  to->count = 0;
  from.VisitCounters([to](const char* name, uint64_t value) {
    to->list[to->count++] = {name, value};
  });
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_COUNTERS_H_
