// TlsStream: encrypted bytes on a socket, for FrameStream, whose rules apply:
// at most one Read and one Write run at a time, and each calls back once, on
// the loop's thread and never before the call has returned.
//
// Asio's own ssl::stream is not used: it includes OpenSSL's headers, and moves
// at most 17 KiB per system call. With buffers of that size, TLS costs large
// lookups a sixth of their speed (docs/benchmarks.md).
//
// The callbacks must keep the stream and its socket alive until they are
// called.

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
  // `bytes`: how many bytes were read; all of them unless there is an error.
  using ReadDone = std::function<void(const ErrorCode&, size_t bytes)>;
  using WriteDone = std::function<void(const ErrorCode&)>;
  using HandshakeDone = std::function<void(const Status&)>;

  // `socket` must outlive the stream; `on_input` is called whenever bytes
  // arrive.
  TlsStream(Socket* socket, std::unique_ptr<TlsSession> session,
            std::function<void()> on_input);

  // Performs the TLS handshake; must be the first call. An error of the session
  // is reported after its alert has been sent to the peer. kUnavailable: the
  // connection ended.
  void Handshake(HandshakeDone done);

  // Fills all of `to`. The end of the connection is reported as asio's eof,
  // whether or not the peer announced it. An error of the TLS session is
  // reported as connection_aborted, and error() returns that error.
  void Read(std::vector<asio::mutable_buffer> to, ReadDone done);

  // Encrypts and sends all of `from`.
  void Write(std::vector<asio::const_buffer> from, WriteDone done);

  // How many bytes of the last Write have been encrypted.
  uint64_t written() const { return bytes_written_; }

  // Announces to the peer that nothing more will be sent. Must not be called
  // during a Write.
  void End(WriteDone done);

  const Status& error() const { return error_; }

  // StopReading ends the current Read, and Stop ends the current Read and
  // Write. They end with operation_aborted and no longer use the caller's
  // memory. The caller must also cancel or close the socket.
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
  // State of the current Read: memory that is still to be filled.
  std::vector<asio::mutable_buffer> to_;
  size_t to_part_ = 0;
  size_t bytes_read_ = 0;
  ReadDone read_done_;
  // State of the current Write: bytes that are still to be encrypted.
  std::vector<asio::const_buffer> from_;
  size_t from_part_ = 0;
  uint64_t bytes_written_ = 0;
  WriteDone write_done_;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_TLS_STREAM_H_
