// FrameStream: frames on a connected socket, encrypted by TLS or not. Nothing
// else reads or writes the socket.
//
// Belongs to the socket's loop. At most one Read and one Write at a time; each
// calls back once, from the loop and never before it returned, also after
// Close. Nothing reads or writes the caller's memory once Close has returned.

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
  kFrame,     // A whole, intact frame.
  kClosed,    // The connection ended, between frames or by an error.
  kBadFrame,  // What came is no frame, or ended within one.
  kTls,  // What came is the begin of TLS, which this stream does not speak.
  // What follows cannot be read, but header().request_id is known:
  kOtherVersion,  // header().version is known too.
  // A body over the limit, or more than there is memory for; all of header()
  // is known.
  kTooLong,
};

// What says to a peer that wants TLS that there is none: an alert of TLS, that
// its version is not known.
std::vector<uint8_t> NoTlsHere();

class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  // `status` says why, unless the end is kFrame.
  using ReadCallback = std::function<void(ReadEnd, const Status& status)>;
  using WriteCallback = std::function<void(const ErrorCode&)>;
  using SecureCallback = std::function<void(const Status&)>;
  // Asked once a header came: where the last bytes of its body are read to. No
  // more than the body has; they must live until the read is done or Close.
  using PlaceCallback =
      std::function<std::vector<MutableBytes>(const FrameHeader&)>;

  FrameStream(Socket socket, uint64_t max_body_bytes);

  // Before all others: agrees with the peer on TLS, by which all that follows
  // is encrypted. Errors: kUnauthenticated if the peer speaks none, and then
  // the stream is not encrypted; kUnavailable if the connection ended; others
  // are TlsSession's, when there is nothing to do but Linger or Close, and the
  // peer has been told.
  void Secure(std::unique_ptr<TlsSession> session, SecureCallback done);

  // Reads the next frame: its header to header(), its body to *body, but for
  // what `place`, if there is one, gives a place of its own.
  void Read(ByteBuffer* body, ReadCallback done, PlaceCallback place = nullptr);
  const FrameHeader& header() const { return header_; }
  // Whether the read under way uses *body by now.
  bool reads_body() const { return reads_body_; }

  // When bytes came last, of whatever part of a frame; else when it was made.
  Clock::time_point heard_at() const { return heard_at_; }

  // Of frames from the next Read on.
  void set_max_body_bytes(uint64_t bytes) { max_body_bytes_ = bytes; }

  // `frame` and its payload must live until `done` or Close.
  void Write(const OutFrame& frame, WriteCallback done);

  // How much of the frame of the last Write is on its way.
  uint64_t written() const {
    return tls_ != nullptr ? tls_->written() : written_;
  }

  // Has the read under way end as kClosed. Not during a Write.
  void CancelRead();

  // Tells the peer that nothing more comes, then throws away what it still
  // sends until it hangs up, for at most `seconds`: closing at once could
  // destroy what was written last before the peer has read it. Not during a
  // Read or Write.
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
  std::unique_ptr<TlsStream> tls_;  // Null if it is not encrypted.
  uint64_t max_body_bytes_;
  std::array<uint8_t, kFrameHeaderBytes> header_bytes_;
  FrameHeader header_;
  bool read_cancelled_ = false;
  bool reads_body_ = false;
  Clock::time_point heard_at_ = Clock::now();
  uint64_t written_ = 0;
  // Of the read under way:
  ByteBuffer* body_ = nullptr;
  uint64_t unplaced_ = 0;             // What *body_ will hold.
  std::vector<MutableBytes> placed_;  // What follows it.
  PlaceCallback place_;
  ReadCallback read_done_;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_FRAME_STREAM_H_
