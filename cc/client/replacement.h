// Replacement: a shard that was restarted without its recovery folder is
// another one, which has nothing, at the same address. Once the folder is back,
// the shard that had left is there again.

#ifndef PERSIA_CC_CLIENT_REPLACEMENT_H_
#define PERSIA_CC_CLIENT_REPLACEMENT_H_

#include <cstdint>

#include "cc/base/clock.h"
#include "cc/client/channel.h"
#include "cc/client/members.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Makes the shard `replacement`, which owns nothing and answers on `channel`
// where the member `lost` did, the owner of the slots that `lost` owns. First
// asks all other members: slots may have moved from the lost shard meanwhile.
// So this fails if one of them does not answer.
void Replace(Members* members, uint64_t lost, uint64_t replacement,
             Channel* channel, Deadline deadline, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_REPLACEMENT_H_
