// DelayedDirection: passes bytes from one socket to another with a delay.

#ifndef PERSIA_BENCHMARKS_DELAY_PROXY_DELAYED_DIRECTION_H_
#define PERSIA_BENCHMARKS_DELAY_PROXY_DELAYED_DIRECTION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "cc/base/clock.h"
#include "cc/wire/asio.h"

namespace persia::bench {

// Two sockets that live until both directions between them have ended.
struct SocketPair {
  Socket client;
  Socket server;

  void Close();
};

// Runs on the event loop of the sockets. It keeps itself alive until its source
// has ended and all bytes were passed on, or a socket failed; a failure closes
// both sockets. It buffers all bytes that arrive within the delay, without a
// limit.
class DelayedDirection : public std::enable_shared_from_this<DelayedDirection> {
 public:
  DelayedDirection(std::shared_ptr<SocketPair> pair, Socket* from, Socket* to,
                   double delay_seconds);

  void Start() { Read(); }

 private:
  struct Chunk {
    std::vector<uint8_t> memory;
    size_t size = 0;
    Clock::time_point due;
  };

  void Read();
  void OnRead(const ErrorCode& error, size_t bytes);
  void PassOn();
  void Write();
  void OnWritten(const ErrorCode& error, size_t chunks);

  const std::shared_ptr<SocketPair> pair_;
  Socket* const from_;
  Socket* const to_;
  const double delay_seconds_;
  Timer timer_;
  Chunk reading_;
  std::deque<Chunk> waiting_;
  std::vector<std::vector<uint8_t>>
      idle_;                 // Free chunks; the last used ones are at the back.
  bool passing_on_ = false;  // The timer or a write is pending.
  bool ended_ = false;       // The source has ended.
};

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_DELAY_PROXY_DELAYED_DIRECTION_H_
