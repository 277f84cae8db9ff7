// Link: keeps up the connection to one server, as long as it is needed. With
// TLS or a token, each connection begins with a handshake; only then it is one.
//
// Belongs to a loop, which must have been stopped before it is destroyed.

#ifndef PERSIA_CC_CLIENT_LINK_H_
#define PERSIA_CC_CLIENT_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cc/base/status.h"
#include "cc/client/connector.h"
#include "cc/client/handshaker.h"
#include "cc/client/remote_service.h"
#include "cc/wire/address.h"
#include "cc/wire/asio.h"
#include "cc/wire/frame_stream.h"

namespace persia {

class Link {
 public:
  struct Callbacks {
    std::function<bool()> is_needed;
    std::function<void()> on_connected;
    // The server will have none of this client, now and later. Connect tries
    // anew.
    std::function<void(const Status& why)> on_refused;
  };

  Link(asio::io_context* context, const Address& address,
       const RemoteServiceOptions& options, Callbacks callbacks);

  // Connects, unless that has been done or is under way. It is tried until it
  // succeeds, with back-off, or until it is not needed or refused for good.
  void Connect();

  // Ends the connection. Makes it again after a back-off if it is needed, but
  // for a refusal for good, which it tells of. Precondition: connected.
  void Drop(const Status& why);

  // The connection has proved itself: the next back-off is short again.
  void ResetBackoff() { backoff_seconds_ = options_.first_backoff_seconds; }

  // Ends everything, for good.
  void ShutDown();

  // Null unless connected.
  const std::shared_ptr<FrameStream>& stream() const { return stream_; }

  // Why there is no connection.
  const Status& last_error() const { return last_error_; }

 private:
  enum class State { kIdle, kConnecting, kConnected, kBackingOff, kShutDown };

  void StartConnecting();
  void OnConnect(const Status& status, std::optional<Socket> socket);
  void StartHandshake(std::shared_ptr<FrameStream> stream);
  void Use(std::shared_ptr<FrameStream> stream);
  void OnFailure(const Status& why);
  void BackOff();

  asio::io_context* const context_;
  const std::string host_;
  const RemoteServiceOptions options_;
  const Callbacks callbacks_;
  Connector connector_;
  Timer backoff_timer_;
  double backoff_seconds_;
  State state_ = State::kIdle;
  Status last_error_;
  std::shared_ptr<Handshaker> handshaker_;  // While it is under way.
  std::shared_ptr<FrameStream> stream_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_LINK_H_
