// IdleCalls: those of a connection that wait for a next request, with the
// memory that earlier ones took: fresh memory costs more than the work on it.
// What recent requests did not need is given back, and so is what all
// connections together would keep beyond a limit.
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
  // `server` must outlive it. `reads_body` says whether the call that was taken
  // last is being read to.
  IdleCalls(const Socket::executor_type& executor, ServerState* server,
            std::function<bool()> reads_body)
      : timer_(executor), server_(server), reads_body_(std::move(reads_body)) {}

  // One to read the next request to; idle until EndIdle.
  std::shared_ptr<Call> Take();

  // The call that was taken last has a request.
  void EndIdle();

  // A call whose reply has been written.
  void Keep(std::shared_ptr<Call> call);

  // To be called once, after the others. What is kept counts no more.
  void Close();

 private:
  void StartTimer();
  void Trim();
  void Count();

  Timer timer_;
  ServerState* const server_;
  const std::function<bool()> reads_body_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::shared_ptr<Call> next_;  // That was taken, while it is idle.
  uint64_t kept_bytes_ = 0;     // As the server counts them.
  // While there may be memory to give back: the most that a request took since
  // the timer was started.
  std::optional<uint64_t> recent_bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_IDLE_CALLS_H_
