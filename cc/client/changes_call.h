// Changes requests, each to one of many shards.

#ifndef PERSIA_CC_CLIENT_CHANGES_CALL_H_
#define PERSIA_CC_CLIENT_CHANGES_CALL_H_

#include "cc/client/fan_out.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// `channels` and `routes` must outlive the call.
void StartChanges(const Channels* channels, TableRoutes* routes,
                  ChangesRequest* request, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHANGES_CALL_H_
