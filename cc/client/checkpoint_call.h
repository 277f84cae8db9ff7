// Checkpoint requests over many shards.

#ifndef PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_
#define PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_

#include "cc/client/fan_out.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Asks every shard, or the first one where it is about small files, which all
// see. `channels` must outlive the call.
void StartCheckpoint(const Channels* channels, CheckpointRequest* request,
                     DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHECKPOINT_CALL_H_
