// Handshaker: makes a new connection one of two ends that know each other, by
// TLS, by the token's handshake, or by one after the other.
//
// Belongs to the connection's loop.

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

  // The stream must be at its begin. No `tls`, or an empty token: without it.
  Handshaker(asio::io_context* context, std::shared_ptr<FrameStream> stream,
             std::unique_ptr<TlsSession> tls, const std::string& token);

  // `done` is called once, from the loop, later: ok once both ends have proved
  // themselves, when the stream is ready for requests; else with the reason,
  // when the stream is closed. kUnavailable if it takes more than `seconds`.
  void Start(double seconds, DoneCallback done);

  // Closes the stream; `done` is not called any more.
  void Cancel();

 private:
  void Greet();
  void Write();
  void Read();
  void OnRead(ReadEnd end, const Status& status);
  void Finish(const Status& status);

  const std::shared_ptr<FrameStream> stream_;
  std::unique_ptr<TlsSession> tls_;           // Until it is the stream's.
  std::optional<ClientHandshake> handshake_;  // Null without a token.
  Timer timeout_;
  OutFrame writing_;
  ByteBuffer reading_;
  DoneCallback done_;  // Null once it is over.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_HANDSHAKER_H_
