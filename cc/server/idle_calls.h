// IdleCalls: the calls of a connection that are between requests, with the
// memory that earlier requests took: allocating it anew would cost more than
// the work on it. It frees the memory that recent requests did not need, and
// what would exceed the limit on all connections together.
//
// Belongs to the connection's loop.

#ifndef PERSIA_CC_SERVER_IDLE_CALLS_H_
#define PERSIA_CC_SERVER_IDLE_CALLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cc/server/call.h"
#include "cc/server/server_state.h"
#include "cc/wire/asio.h"

namespace persia {

class IdleCalls : public std::enable_shared_from_this<IdleCalls> {
 public:
  // `server` must outlive it. `reads_body` says whether a body is being read
  // into the call that Take returned last.
  IdleCalls(const Socket::executor_type& executor, ServerState* server,
            std::function<bool()> reads_body)
      : timer_(executor), server_(server), reads_body_(std::move(reads_body)) {}

  // Returns a call to read the next request into. It is idle until EndIdle.
  std::shared_ptr<Call> Take();

  // The call that Take returned last has received a request.
  void EndIdle();

  // Accepts a call whose reply has been written.
  void Keep(std::shared_ptr<Call> call);

  // Call it once, last. Stops counting what is retained.
  void Close();

 private:
  void StartTimer();
  void Trim();
  void Count();

  Timer timer_;
  ServerState* const server_;
  const std::function<bool()> reads_body_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::shared_ptr<Call> next_;  // The last call taken, while it is idle.
  uint64_t kept_bytes_ = 0;     // What server_->kept_bytes includes of it.
  bool is_closed_ = false;
  // Set while there may be memory to free: the most that a request has taken
  // since the timer was started.
  std::optional<uint64_t> recent_bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_IDLE_CALLS_H_
