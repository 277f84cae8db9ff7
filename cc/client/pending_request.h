// PendingRequest: a request of a channel that has not been answered yet.
//
// Not thread-safe: only the channel's event loop uses it.

#ifndef PERSIA_CC_CLIENT_PENDING_REQUEST_H_
#define PERSIA_CC_CLIENT_PENDING_REQUEST_H_

#include <optional>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/client/shard_request.h"

namespace persia {

struct PendingRequest {
  ShardRequest request;
  bool was_sent = false;
  // When the request was completely written to the current connection.
  std::optional<Clock::time_point> sent_at;
  int stalls = 0;
  // The server's reason for requesting a retry of this request, or for ending
  // the connection.
  std::string refusal;
  double backoff_seconds = 0;
  std::optional<Clock::time_point> send_again_at;
};

// The error of a request whose deadline has passed. `name` is the server's, and
// `outage` why there is no connection to it; OK if there is one.
Status DeadlineError(const PendingRequest& pending, const std::string& name,
                     const Status& outage);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PENDING_REQUEST_H_
