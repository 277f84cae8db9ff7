// FrameStream: frames on a connected socket, with or without TLS. Nothing else
// reads or writes the socket.
//
// A stream belongs to the EventLoop of its socket. At most one Read and one
// Write run at a time; each calls back exactly once, even after Close, on the
// loop's thread and never before the call has returned. Once Close has
// returned, the caller's memory is neither read nor written.

#ifndef PERSIA_CC_WIRE_FRAME_STREAM_H_
#define PERSIA_CC_WIRE_FRAME_STREAM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/tls/tls_session.h"
#include "cc/wire/asio.h"
#include "cc/wire/frame.h"
#include "cc/wire/tls_stream.h"

namespace persia {

enum class ReadEnd {
  kFrame,     // A whole, intact frame was read.
  kClosed,    // The connection ended, between frames or by an error.
  kBadFrame,  // Invalid bytes, or the connection ended within a frame.
  kTls,       // The peer starts TLS, but this stream is unencrypted.
  // For kOtherVersion and kTooLong, the frame's body cannot be read, but
  // header().request_id is known, so that an error can be sent.
  kOtherVersion,  // The peer has another version: header().version.
  // The body exceeds the limit or the available memory. All of header() is
  // known.
  kTooLong,
};

// The reply to a peer that starts TLS with a server that has no TLS: an alert
// that says that the peer's TLS version is not supported.
std::vector<uint8_t> NoTlsHere();

class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  // `status` is the reason why the read ended; OK for kFrame.
  using ReadCallback = std::function<void(ReadEnd, const Status& status)>;
  using WriteCallback = std::function<void(const ErrorCode&)>;
  using SecureCallback = std::function<void(const Status&)>;
  // Called once a header has arrived: returns the memory for the last bytes of
  // the frame's body. The memory must be no larger than the body, and must live
  // until the read has ended or Close has returned.
  using PlaceCallback =
      std::function<std::vector<MutableBytes>(const FrameHeader&)>;

  FrameStream(Socket socket, uint64_t max_body_bytes);

  // Performs the TLS handshake, after which all traffic is encrypted. Must be
  // the first call. Errors:
  // - kUnauthenticated if the peer does not speak TLS; the stream is then
  //   unencrypted
  // - kUnavailable if the connection ended
  // - otherwise an error of TlsSession, after an alert was sent to the peer;
  //   only Linger and Close may then be called
  void Secure(std::unique_ptr<TlsSession> session, SecureCallback done);

  // Reads the next frame: its header into header(), its body into *body, except
  // for the last bytes, which go to the memory that `place`, if given, returns.
  void Read(ByteBuffer* body, ReadCallback done, PlaceCallback place = nullptr);
  const FrameHeader& header() const { return header_; }
  // Whether the current read has begun to use *body.
  bool reads_body() const { return reads_body_; }

  // When bytes of any part of a frame last arrived; initially, the time of
  // construction.
  Clock::time_point heard_at() const { return heard_at_; }

  // Limits the size of frames' bodies from the next Read on.
  void set_max_body_bytes(uint64_t bytes) { max_body_bytes_ = bytes; }

  // Sends a frame. `frame` and its payload must live until `done` is called or
  // Close has returned.
  void Write(const OutFrame& frame, WriteCallback done);

  // How many bytes of the last Write's frame have been sent (with TLS:
  // encrypted).
  uint64_t written() const {
    return tls_ != nullptr ? tls_->written() : written_;
  }

  // Ends the current read with ReadEnd::kClosed. Must not be called during a
  // Write.
  void CancelRead();

  // Announces the end to the peer, then discards what the peer sends until it
  // closes the connection, for at most `seconds`. Closing at once could destroy
  // the last bytes written before the peer has read them. Must not be called
  // during a Read or Write.
  void Linger(double seconds, std::function<void()> done);

  void Close();

 private:
  void OnHeader(const ErrorCode& error, size_t bytes);
  void ReadBody();
  void ReadBodyFrom(size_t begin);
  void OnBodyPart(const ErrorCode& error);
  void OnBody();
  void EndRead(ReadEnd end, const Status& status);
  void EndReadAsCancelled();
  void EndReadWithoutMemory();
  void EndReadOnError(const ErrorCode& error, bool within_frame);
  void StopSending(std::shared_ptr<Timer> timer, std::function<void()> done);
  void Discard(std::shared_ptr<Timer> timer, std::function<void()> done);

  Socket socket_;
  std::unique_ptr<TlsStream> tls_;  // Null without TLS.
  uint64_t max_body_bytes_;
  std::array<uint8_t, kFrameHeaderBytes> header_bytes_;
  FrameHeader header_;
  bool read_cancelled_ = false;
  bool reads_body_ = false;
  Clock::time_point heard_at_ = Clock::now();
  uint64_t written_ = 0;
  // The members below are the state of the current read.
  ByteBuffer* body_ = nullptr;
  uint64_t unplaced_ = 0;             // Bytes of the body that *body_ gets.
  std::vector<MutableBytes> placed_;  // Memory for the body's other bytes.
  PlaceCallback place_;
  ReadCallback read_done_;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_FRAME_STREAM_H_
