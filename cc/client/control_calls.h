// CreateTable and Stats over many shards.

#ifndef PERSIA_CC_CLIENT_CONTROL_CALLS_H_
#define PERSIA_CC_CLIENT_CONTROL_CALLS_H_

#include "cc/client/fan_out.h"
#include "cc/service/embedding_service.h"

namespace persia {

// `channels` must outlive the call.
void StartCreateTable(const Channels* channels, CreateTableRequest* request,
                      DoneCallback done);
void StartStats(const Channels* channels, StatsRequest* request,
                DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CONTROL_CALLS_H_
