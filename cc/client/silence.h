// Silence: tells a program's log, once an outage, of a shard that does not
// answer, with what waits for it and for how long; and once when it answers
// again. Requests fail at their deadlines whatever is told.
//
// Belongs to a channel, and to its loop.

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
  // `events` may be null: nobody is told. `name` stands for the shard.
  Silence(EventLog* events, std::string name, double seconds);

  // When it is to be told of if `request` has no answer by then and nothing is
  // heard after `heard_at`, where that is known. Never, if it was told of, if
  // the request fails before that, or if a shard that is reached may take its
  // time over it.
  Clock::time_point TellsAt(const ShardRequest& request, bool is_reached,
                            std::optional<Clock::time_point> heard_at) const;

  // `oldest` of `waiting` requests has no answer, for a reason such as
  // "Connection refused".
  void Tell(const ShardRequest& oldest, size_t waiting,
            const std::string& reason);

  // An answer came, and no request waits for longer than it may.
  void End();

 private:
  EventLog* const events_;
  const std::string name_;
  const Clock::duration longest_;
  // Since when there is no answer, if that was told.
  std::optional<Clock::time_point> since_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SILENCE_H_
