// Checkpoint requests over many shards.

#ifndef PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_
#define PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_

#include "cc/client/fan_out.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Asks every shard; for the actions on small files, which every shard can
// access, only the first one. `channels` must outlive the call.
void StartCheckpoint(const Channels* channels, CheckpointRequest* request,
                     DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_
