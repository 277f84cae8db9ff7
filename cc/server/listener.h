// Listener: accepts connections on one port. Only the thread of the loop on
// which it accepts may use it, except for Bind.

#ifndef PERSIA_CC_SERVER_LISTENER_H_
#define PERSIA_CC_SERVER_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "cc/base/status.h"
#include "cc/wire/address.h"
#include "cc/wire/asio.h"
#include "cc/wire/event_loop.h"

namespace persia {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Returns the event loop that will serve the next connection.
  using NextLoop = std::function<EventLoop*()>;
  // Receives a new connection and the loop that will serve it.
  using Accepted = std::function<void(EventLoop* loop, Socket socket)>;

  // From where clients may connect.
  enum class Reach { kThisMachine, kAnywhere };

  // Binds to `address`. May be called on any thread. kUnavailable, naming the
  // address, if binding fails; kInvalidArgument if clients outside `reach`
  // could connect to the address.
  static Result<std::shared_ptr<Listener>> Bind(EventLoop* loop,
                                                const Address& address,
                                                Reach reach);

  explicit Listener(EventLoop* loop);

  uint16_t port() const { return port_; }

  void Start(NextLoop next_loop, Accepted accepted);

  // Frees the port. No callback is called afterwards.
  void Close();

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp,
                                               asio::io_context::executor_type>;

  ErrorCode Open(const Tcp::endpoint& endpoint);
  void AcceptNext();
  void OnAccept(EventLoop* loop, const ErrorCode& error);
  void AcceptLater();

  Acceptor acceptor_;
  Timer retry_;
  uint16_t port_ = 0;
  NextLoop next_loop_;
  Accepted accepted_;
  std::unique_ptr<Socket> socket_;  // For the next connection.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_LISTENER_H_
