// AskStandby: what a shard does before it serves, if it has a standby.

#ifndef PERSIA_CC_SHARD_ASK_STANDBY_H_
#define PERSIA_CC_SHARD_ASK_STANDBY_H_

#include "cc/base/event_log.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/local_service.h"

namespace persia {

// Asks the shard's standby, if it has one, whether that has taken its place
// while it was down, and tells the shard, which then owns nothing any more. If
// the standby does not answer within some seconds, the shard serves. Blocks.
void AskStandby(EmbeddingService* shard, const ConnectToShard& connect,
                EventLog* events);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_ASK_STANDBY_H_
