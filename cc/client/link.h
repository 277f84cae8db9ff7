// Link: maintains a connection to one server while the link's user needs one.
// With TLS or a token, each connection begins with a handshake, and counts as
// connected only after the handshake.
//
// A link belongs to an event loop, which must have been stopped before the link
// is destroyed.

#ifndef PERSIA_CC_CLIENT_LINK_H_
#define PERSIA_CC_CLIENT_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

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
    // Called after a connection, or an attempt, has failed.
    std::function<void()> on_failed;
    // Called when the client or the server refuses the other permanently (see
    // IsForGood). The link does not retry until Connect is called.
    std::function<void(const Status& why)> on_refused;
  };

  Link(asio::io_context* context, const Address& address,
       const RemoteServiceOptions& options, Callbacks callbacks);

  // Starts to connect, unless the link is connected or connecting. Retries with
  // back-off until the link is connected, is_needed() returns false, or one end
  // refuses the other permanently.
  void Connect();

  // Closes the connection. If `why` is a permanent refusal, calls on_refused;
  // otherwise, if is_needed() returns true, reconnects after a back-off.
  // Precondition: the link is connected.
  void Drop(const Status& why);

  // Makes the next back-off short again; called when a reply has arrived.
  void ResetBackoff() { backoff_seconds_ = options_.first_backoff_seconds; }

  // Ends the connection, or the attempt in progress, and uses `address` from
  // now on. If is_needed() returns true, connects at once.
  void Move(const Address& address);

  // Where the server's standby answers, which may take its place: after each
  // failure, the link tries the other one of both.
  void SetAlternate(std::optional<Address> alternate);

  // Closes the connection and stops all retries. The link cannot be used
  // afterwards.
  void ShutDown();

  // The stream of the current connection; null unless the link is connected.
  const std::shared_ptr<FrameStream>& stream() const { return stream_; }

  // The error that ended the last connection to the server, or the last
  // attempt, or "still connecting" before the first such error.
  const Status& last_error() const { return last_error_; }

 private:
  enum class State { kIdle, kConnecting, kConnected, kBackingOff, kShutDown };

  void Disconnect();
  void StartConnecting();
  void OnConnect(const Status& status, std::optional<Socket> socket);
  void StartHandshake(std::shared_ptr<FrameStream> stream);
  void Use(std::shared_ptr<FrameStream> stream);
  void OnFailure(const Status& why);
  void BackOff();
  void UseAddress(bool alternate);

  asio::io_context* const context_;
  Address address_;
  std::optional<Address> alternate_;
  bool uses_alternate_ = false;
  const RemoteServiceOptions options_;
  const Callbacks callbacks_;
  Connector connector_;
  Timer backoff_timer_;
  double backoff_seconds_;
  State state_ = State::kIdle;
  Status last_error_;
  // Null unless a handshake is in progress.
  std::shared_ptr<Handshaker> handshaker_;
  std::shared_ptr<FrameStream> stream_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_LINK_H_
