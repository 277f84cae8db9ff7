// DropTable and Stats over many shards, and finding a table's route by Stats.

#ifndef PERSIA_CC_CLIENT_CONTROL_CALLS_H_
#define PERSIA_CC_CLIENT_CONTROL_CALLS_H_

#include "cc/client/fan_out.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// `channels` and `routes` must outlive the calls.
void StartDropTable(const Channels* channels, DropTableRequest* request,
                    DoneCallback done);
void StartStats(const Channels* channels, StatsRequest* request,
                DoneCallback done);

// Sets the route of a table that was not created through this client.
void StartLearnRoute(const Channels* channels, TableRoutes* routes,
                     TableKey table, Deadline deadline, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CONTROL_CALLS_H_
