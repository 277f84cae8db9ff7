// ShardRequest: what one call asks of one shard.

#ifndef PERSIA_CC_CLIENT_SHARD_REQUEST_H_
#define PERSIA_CC_CLIENT_SHARD_REQUEST_H_

#include <cstdint>
#include <functional>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

struct ShardRequest {
  uint64_t id = 0;  // Of the channel; the frame carries it.
  OutFrame frame;   // Refers to memory that lives until `done`.
  MessageType reply_type = MessageType::kError;
  // Takes what it needs from a reply's body; its error is the request's.
  std::function<Status(ConstBytes body)> on_reply;
  DoneCallback done;
  Clock::time_point asked_at;  // When the call was made.
  Deadline deadline;
  // Whether the server's kUnavailable passes by itself.
  bool retry_unavailable = false;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SHARD_REQUEST_H_
