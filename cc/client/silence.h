// Silence: logs an event when a shard does not answer, once per outage, with
// the requests that wait for it and for how long, and another when it answers
// again. Only logs: requests fail at their deadlines in any case.
//
// Belongs to a channel, and to the channel's loop.

#ifndef PERSIA_CC_CLIENT_SILENCE_H_
#define PERSIA_CC_CLIENT_SILENCE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/event_log.h"
#include "cc/client/shard_request.h"

namespace persia {

class Silence {
 public:
  // If `events` is null, nothing is logged. `name` names the shard.
  Silence(EventLog* events, std::string name, double seconds);

  // When to call Tell if `request` has no answer by then and nothing arrives
  // after `heard_at`, if that is known. Never (the largest time_point) if the
  // outage has been logged, if the request's deadline is before that, or if the
  // shard is connected and may take long over the request.
  Clock::time_point TellsAt(const ShardRequest& request, bool is_reached,
                            std::optional<Clock::time_point> heard_at) const;

  // Logs that `oldest`, of `waiting` requests, has no answer, for a reason such
  // as "Connection refused".
  void Tell(const ShardRequest& oldest, size_t waiting,
            const std::string& reason);

  // An answer came, and no pending request was refused for now by the shard.
  void End();

 private:
  EventLog* const events_;
  const std::string name_;
  const Clock::duration longest_;
  // Since when there has been no answer; set once that has been logged.
  std::optional<Clock::time_point> since_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SILENCE_H_
