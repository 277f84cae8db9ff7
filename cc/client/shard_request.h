// ShardRequest: the request that one call sends to one shard.

#ifndef PERSIA_CC_CLIENT_SHARD_REQUEST_H_
#define PERSIA_CC_CLIENT_SHARD_REQUEST_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

// The memory into which a reply's vectors are read directly, if the reply's
// body is `head_bytes` bytes followed by exactly these vectors. Otherwise, or
// if `vectors` is empty, the body is read into the channel's memory and must be
// copied.
struct ReplyPlaces {
  uint64_t head_bytes = 0;
  std::vector<MutableBytes> vectors;
};

struct ShardRequest {
  uint64_t id = 0;  // From Channel::NextRequestId; `frame` contains it too.
  OutFrame frame;   // May refer to memory that lives until `done`.
  MessageType reply_type = MessageType::kError;
  ReplyPlaces places;
  // Decodes a reply and returns the request's outcome. If `placed` is true, the
  // reply's vectors are already in `places` and `body` is only its head.
  std::function<Status(ConstBytes body, bool placed)> on_reply;
  DoneCallback done;
  Clock::time_point asked_at;  // When the call was made.
  Deadline deadline;
  // Whether the request is sent again if the server replies kUnavailable.
  bool retry_unavailable = false;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SHARD_REQUEST_H_
