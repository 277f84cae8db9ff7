// IdleCalls: a connection's Call objects that serve no request now. They retain
// the memory of earlier requests, because allocating memory for each request
// would take more time than using it. Memory that recent requests did not need
// is freed, and so is memory beyond the limit on all connections together.
//
// Only the thread of the connection's loop may use it.

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
  // `server` must outlive this object. `reads_body` returns whether a body is
  // being read into the call that Take returned last.
  IdleCalls(const Socket::executor_type& executor, ServerState* server,
            std::function<bool()> reads_body)
      : timer_(executor), server_(server), reads_body_(std::move(reads_body)) {}

  // Returns a call to read the next request into. The call counts as idle until
  // EndIdle.
  std::shared_ptr<Call> Take();

  // Records that the call that Take returned last has received a request, so
  // that it is no longer idle.
  void EndIdle();

  // Takes back a call whose reply has been written, so that it can be reused.
  void Keep(std::shared_ptr<Call> call);

  // Subtracts this object's retained bytes from the server's count. Call it
  // once, after all other methods.
  void Close();

 private:
  void StartTimer();
  void Trim();
  void Count();

  Timer timer_;
  ServerState* const server_;
  const std::function<bool()> reads_body_;
  std::vector<std::shared_ptr<Call>> calls_;
  // The call that Take returned last, until EndIdle.
  std::shared_ptr<Call> next_;
  uint64_t kept_bytes_ = 0;  // This object's share of server_->kept_bytes.
  bool is_closed_ = false;
  // The most bytes that one request has used since the timer was started. Set
  // only while there may be memory to free.
  std::optional<uint64_t> recent_bytes_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_IDLE_CALLS_H_
