// Silence: logs an event when a shard does not answer, once per outage, and
// another event when the shard answers again. The first event names the
// requests that wait for the shard and how long they have waited. Requests fail
// at their deadlines whether or not an event is logged.
//
// A Silence belongs to a channel and runs on the channel's event loop.

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

  // The shard's name from now on.
  void set_name(const std::string& name) { name_ = name; }

  // Returns the time at which to call Tell, unless the shard answers `request`
  // or sends anything else before. `heard_at` is when the shard last sent
  // something, if known. Returns the largest time_point, which means never, in
  // three cases: the outage has been logged; the request's deadline comes
  // first; or the shard is connected (`is_reached`) and the request may take
  // long.
  Clock::time_point TellsAt(const ShardRequest& request, bool is_reached,
                            std::optional<Clock::time_point> heard_at) const;

  // Logs that the shard has not answered `oldest`, one of `waiting` pending
  // requests. The reason is a text such as "Connection refused".
  void Tell(const ShardRequest& oldest, size_t waiting,
            const std::string& reason);

  // Logs the end of the outage, if its start was logged. Called when the shard
  // has answered and no pending request is waiting to be retried because the
  // shard refused it.
  void End();

 private:
  EventLog* const events_;
  std::string name_;
  const Clock::duration longest_;
  // When the outage that was logged began; unset while no logged outage lasts.
  std::optional<Clock::time_point> since_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SILENCE_H_
