// TlsStream: bytes on a socket, encrypted. FrameStream's, and its rules hold
// here: at most one Read and one Write at a time, each of which calls back
// once, from the loop and never before it returned.
//
// What it calls back must keep the stream and its socket alive until then.

#ifndef PERSIA_CC_WIRE_TLS_STREAM_H_
#define PERSIA_CC_WIRE_TLS_STREAM_H_

#include <functional>
#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/tls/tls_session.h"
#include "cc/wire/asio.h"

namespace persia {

class TlsStream {
 public:
  // `bytes` were read before the error, or all that was asked for.
  using ReadDone = std::function<void(const ErrorCode&, size_t bytes)>;
  using WriteDone = std::function<void(const ErrorCode&)>;
  using HandshakeDone = std::function<void(const Status&)>;

  // `socket` must outlive it; `on_input` is called whenever something came.
  TlsStream(Socket* socket, std::unique_ptr<TlsSession> session,
            std::function<void()> on_input);

  // First of all. An error of the session is told once the peer has been sent
  // what it says of it; kUnavailable: the connection ended.
  void Handshake(HandshakeDone done);

  // Fills all of `to`. The end of the connection is asio's eof, whether the
  // peer told of it or not; an error of the session is connection_aborted, and
  // error().
  void Read(std::vector<asio::mutable_buffer> to, ReadDone done);

  // Sends all of `from`.
  void Write(std::vector<asio::const_buffer> from, WriteDone done);

  // How much of what the last Write sends has been encrypted.
  uint64_t written() const { return bytes_written_; }

  // Tells the peer that nothing more comes. Not during a Write.
  void End(WriteDone done);

  const Status& error() const { return error_; }

  // A Read, or all that is under way, ends with operation_aborted and touches
  // the caller's memory no more; the socket is the caller's to cancel or close.
  void StopReading() { reading_stopped_ = true; }
  void Stop() { stopped_ = reading_stopped_ = true; }

 private:
  using ThenCallback = std::function<void(const ErrorCode&)>;

  void Shake();
  void FinishHandshake(const Status& status);
  void ReadMore();
  void FinishRead(const ErrorCode& error);
  void WriteMore();
  ErrorCode EncryptSome();
  void FinishWrite(const ErrorCode& error);
  void Receive(ThenCallback then);
  void SendOutput(ThenCallback then);

  Socket* const socket_;
  const std::unique_ptr<TlsSession> session_;
  const std::function<void()> on_input_;
  Status error_;
  bool reading_stopped_ = false;
  bool stopped_ = false;
  HandshakeDone handshake_done_;
  // Of the Read under way: what is still to be filled.
  std::vector<asio::mutable_buffer> to_;
  size_t to_part_ = 0;
  size_t bytes_read_ = 0;
  ReadDone read_done_;
  // Of the Write under way: what is still to be encrypted.
  std::vector<asio::const_buffer> from_;
  size_t from_part_ = 0;
  uint64_t bytes_written_ = 0;
  WriteDone write_done_;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_TLS_STREAM_H_
