// ShardRequest: what one call asks of one shard.

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

// Where a reply's vectors are read to at once, if its body has `head_bytes` and
// then just their bytes; else, and without vectors, it is read to memory of the
// channel, from which it has to be copied.
struct ReplyPlaces {
  uint64_t head_bytes = 0;
  std::vector<MutableBytes> vectors;
};

struct ShardRequest {
  uint64_t id = 0;  // Of the channel; the frame carries it.
  OutFrame frame;   // Refers to memory that lives until `done`.
  MessageType reply_type = MessageType::kError;
  ReplyPlaces places;
  // Takes what it needs from a reply's body, or from its head, if the rest is
  // in its places; its error is the request's.
  std::function<Status(ConstBytes body, bool placed)> on_reply;
  DoneCallback done;
  Clock::time_point asked_at;  // When the call was made.
  Deadline deadline;
  // Whether the server's kUnavailable passes by itself.
  bool retry_unavailable = false;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SHARD_REQUEST_H_
