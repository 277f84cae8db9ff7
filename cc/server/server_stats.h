// AddServerStats: adds what a server counts to the statistics of its service.

#ifndef PERSIA_CC_SERVER_SERVER_STATS_H_
#define PERSIA_CC_SERVER_SERVER_STATS_H_

#include <vector>

#include "cc/server/server_state.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Sets the server's counters in the entry for this process. Only a service that
// forwards to other processes may lack that entry: a new one is then inserted
// in front. Thread-safe.
void AddServerStats(const ServerState& server,
                    std::vector<ServiceStats>* processes);

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_STATS_H_
