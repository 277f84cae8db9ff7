// Handshaker: authenticates both ends of a new connection, by TLS, by the
// token's handshake, or by TLS and then the token.
//
// A handshaker runs on the connection's event loop.

#ifndef PERSIA_CC_CLIENT_HANDSHAKER_H_
#define PERSIA_CC_CLIENT_HANDSHAKER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/tls/tls_session.h"
#include "cc/wire/asio.h"
#include "cc/wire/frame_stream.h"
#include "cc/wire/handshake.h"

namespace persia {

class Handshaker : public std::enable_shared_from_this<Handshaker> {
 public:
  using DoneCallback = std::function<void(const Status&)>;

  // Nothing may have been read from or written to the stream before. A null
  // `tls` skips TLS; an empty token skips the token's handshake.
  Handshaker(asio::io_context* context, std::shared_ptr<FrameStream> stream,
             std::unique_ptr<TlsSession> tls, const std::string& token);

  // Starts the handshake. `done` is called once, from the event loop, after
  // Start has returned. It receives ok if both ends are authenticated and the
  // stream is ready for requests. Otherwise the stream is closed and `done`
  // receives the error, which is kUnavailable if the handshake takes more than
  // `seconds`.
  void Start(double seconds, DoneCallback done);

  // Closes the stream; `done` will not be called.
  void Cancel();

 private:
  void Greet();
  void Write();
  void Read();
  void OnRead(ReadEnd end, const Status& status);
  void Finish(const Status& status);

  const std::shared_ptr<FrameStream> stream_;
  std::unique_ptr<TlsSession> tls_;           // Moved to the stream by Start.
  std::optional<ClientHandshake> handshake_;  // Null without a token.
  Timer timeout_;
  OutFrame writing_;
  ByteBuffer reading_;
  DoneCallback done_;  // Null once the handshake has ended.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_HANDSHAKER_H_
