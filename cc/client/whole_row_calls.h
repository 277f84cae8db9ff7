// Export, Assign and Remove over many shards.

#ifndef PERSIA_CC_CLIENT_WHOLE_ROW_CALLS_H_
#define PERSIA_CC_CLIENT_WHOLE_ROW_CALLS_H_

#include "cc/client/fan_out.h"
#include "cc/client/row_calls.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// `channels`, `routes` and `pool` must outlive the call.
void StartExport(const Channels* channels, TableRoutes* routes,
                 ExportRequest* request, DoneCallback done);
void StartAssign(const Channels* channels, RowScratchPool* pool,
                 AssignRequest* request, DoneCallback done);
void StartRemove(const Channels* channels, RowScratchPool* pool,
                 RemoveRequest* request, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_WHOLE_ROW_CALLS_H_
