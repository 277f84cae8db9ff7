// Link: maintains the connection to one server while it is needed. With TLS or
// a token, each connection begins with a handshake, and counts as connected
// only after it.
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
    // One end refuses the other permanently: see IsForGood. The link does not
    // retry until Connect is called.
    std::function<void(const Status& why)> on_refused;
  };

  Link(asio::io_context* context, const Address& address,
       const RemoteServiceOptions& options, Callbacks callbacks);

  // Starts to connect, unless the link is connected or connecting. Retries with
  // back-off until it succeeds, is no longer needed, or is refused permanently.
  void Connect();

  // Closes the connection. If `why` is a permanent refusal, calls on_refused;
  // otherwise reconnects after a back-off, if the connection is needed.
  // Precondition: connected.
  void Drop(const Status& why);

  // The connection works, so the next back-off is short again.
  void ResetBackoff() { backoff_seconds_ = options_.first_backoff_seconds; }

  // Closes the connection and stops all retries. Final.
  void ShutDown();

  // Null unless connected.
  const std::shared_ptr<FrameStream>& stream() const { return stream_; }

  // Why the last connection failed, or that none has been attempted yet.
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
  std::shared_ptr<Handshaker> handshaker_;  // Null unless in progress.
  std::shared_ptr<FrameStream> stream_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_LINK_H_
