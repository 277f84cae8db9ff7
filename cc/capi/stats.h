// StatsOfService: fetches the counters that the C interface returns in a
// persia_stats.

#ifndef PERSIA_CC_CAPI_STATS_H_
#define PERSIA_CC_CAPI_STATS_H_

#include <vector>

#include "cc/base/clock.h"
#include "cc/capi/persia_stats.h"
#include "cc/service/embedding_service.h"

struct persia_stats {
  std::vector<persia::ServiceStats> processes;
};

namespace persia {

// Requests stats from `service` and stores them in a new handle, *stats; see
// StatsRequest for `only_own`. Blocks until `deadline` at most.
int StatsOfService(EmbeddingService* service, Deadline deadline,
                   persia_stats** stats, bool only_own = false);

}  // namespace persia

#endif  // PERSIA_CC_CAPI_STATS_H_
