#include "cc/wire/frame_stream.h"

#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

namespace persia {
namespace {

// With its default completion condition Asio moves at most 64 KiB per system
// call, which makes megabyte frames 2.5 times slower.
constexpr size_t kMaxTransferBytes = 64u << 20;

// The most memory that is allocated for a frame's body when only the frame's
// header has arrived. Beyond this size, the buffer doubles as bytes arrive:
// otherwise many peers could exhaust the memory by sending a few bytes each.
constexpr size_t kUnbackedBytes = 1u << 20;

// Whether the bytes start a TLS handshake record, of any version.
bool BeginsTls(Span<const uint8_t, kFrameHeaderBytes> bytes) {
  return bytes[0] == 0x16 && bytes[1] == 0x03;
}

size_t UntilDone(const ErrorCode& error, size_t /*transferred*/) {
  return error ? 0 : kMaxTransferBytes;
}

}  // namespace

std::vector<uint8_t> NoTlsHere() {
  // A TLS record: type alert, version, length; then the alert: fatal,
  // protocol_version.
  return {21, 3, 3, 0, 2, 2, 70};
}

FrameStream::FrameStream(Socket socket, uint64_t max_body_bytes)
    : socket_(std::move(socket)), max_body_bytes_(max_body_bytes) {
  TuneSocket(&socket_);
}

void FrameStream::Secure(std::unique_ptr<TlsSession> session,
                         SecureCallback done) {
  tls_ = std::make_unique<TlsStream>(&socket_, std::move(session),
                                     [this] { heard_at_ = Clock::now(); });
  tls_->Handshake([self = shared_from_this(),
                   done = std::move(done)](const Status& status) {
    if (status.code() == Code::kUnauthenticated) self->tls_ = nullptr;
    done(status);
  });
}

void FrameStream::Read(ByteBuffer* body, ReadCallback done,
                       PlaceCallback place) {
  body_ = body;
  placed_.clear();
  place_ = std::move(place);
  read_done_ = std::move(done);
  auto on_header = [self = shared_from_this()](const ErrorCode& error,
                                               size_t bytes) {
    self->OnHeader(error, bytes);
  };
  const asio::mutable_buffer header = asio::buffer(header_bytes_);
  if (tls_ != nullptr) return tls_->Read({header}, std::move(on_header));
  asio::async_read(socket_, header, std::move(on_header));
}

void FrameStream::OnHeader(const ErrorCode& error, size_t bytes) {
  heard_at_ = Clock::now();
  if (read_cancelled_) return EndReadAsCancelled();
  if (error) return EndReadOnError(error, bytes > 0);
  const Status status =
      ParseFrameHeader(header_bytes_, max_body_bytes_, &header_);
  switch (status.code()) {
    case Code::kOk:
      return ReadBody();
    case Code::kFailedPrecondition:
      return EndRead(ReadEnd::kOtherVersion, status);
    case Code::kResourceExhausted:
      return EndRead(ReadEnd::kTooLong, status);
    default:
      return EndRead(
          BeginsTls(header_bytes_) ? ReadEnd::kTls : ReadEnd::kBadFrame,
          status);
  }
}

void FrameStream::ReadBody() {
  reads_body_ = true;
  unplaced_ = header_.body_bytes;
  if (place_ != nullptr) placed_ = place_(header_);
  for (const MutableBytes part : placed_) unplaced_ -= part.size();
  const size_t first = std::max(kUnbackedBytes, body_->capacity());
  if (!body_->Resize(std::min<uint64_t>(unplaced_, first))) {
    return EndReadWithoutMemory();
  }
  ReadBodyFrom(0);
}

void FrameStream::ReadBodyFrom(size_t begin) {
  std::vector<asio::mutable_buffer> parts;
  parts.reserve(1 + placed_.size());
  parts.emplace_back(body_->data() + begin, body_->size() - begin);
  if (body_->size() == unplaced_) {
    for (const MutableBytes part : placed_) {
      parts.emplace_back(part.data(), part.size());
    }
  }
  auto on_part = [self = shared_from_this()](const ErrorCode& error,
                                             size_t /*bytes*/) {
    self->OnBodyPart(error);
  };
  if (tls_ != nullptr) return tls_->Read(std::move(parts), std::move(on_part));
  asio::async_read(
      socket_, std::move(parts),
      [this](const ErrorCode& error, size_t transferred) {
        heard_at_ = Clock::now();
        return UntilDone(error, transferred);
      },
      std::move(on_part));
}

void FrameStream::OnBodyPart(const ErrorCode& error) {
  if (read_cancelled_) return EndReadAsCancelled();
  if (error) return EndReadOnError(error, true);
  const size_t size = body_->size();
  if (size == unplaced_) return OnBody();
  if (!body_->Grow(std::min<uint64_t>(unplaced_, 2 * uint64_t{size}))) {
    return EndReadWithoutMemory();
  }
  ReadBodyFrom(size);
}

void FrameStream::OnBody() {
  std::vector<ConstBytes> parts{ConstBytes(body_->data(), body_->size())};
  parts.insert(parts.end(), placed_.begin(), placed_.end());
  const Status status = CheckBody(header_, parts);
  EndRead(status.ok() ? ReadEnd::kFrame : ReadEnd::kBadFrame, status);
}

void FrameStream::EndReadWithoutMemory() {
  EndRead(ReadEnd::kTooLong, Status(Code::kResourceExhausted,
                                    Concat("no memory for a frame's body of ",
                                           header_.body_bytes, " bytes")));
}

// Also ends a read that succeeded but was cancelled before its handler ran: the
// caller's buffer must not be used after the cancellation.
void FrameStream::EndReadAsCancelled() {
  EndRead(ReadEnd::kClosed, Status(Code::kCancelled, "the read was cancelled"));
}

void FrameStream::EndReadOnError(const ErrorCode& error, bool within_frame) {
  if (tls_ != nullptr && !tls_->error().ok()) {
    const bool is_bad = tls_->error().code() == Code::kDataLoss;
    return EndRead(is_bad ? ReadEnd::kBadFrame : ReadEnd::kClosed,
                   tls_->error());
  }
  if (error == asio::error::eof && within_frame) {
    return EndRead(ReadEnd::kBadFrame,
                   Status(Code::kDataLoss,
                          "the connection ended in the middle of a frame"));
  }
  EndRead(ReadEnd::kClosed, Status(Code::kUnavailable, Reason(error)));
}

void FrameStream::EndRead(ReadEnd end, const Status& status) {
  reads_body_ = false;
  // read_done_ is cleared before the call, since the callback may start the
  // next read, which sets it.
  std::exchange(read_done_, nullptr)(end, status);
}

void FrameStream::Write(const OutFrame& frame, WriteCallback done) {
  std::vector<asio::const_buffer> parts;
  parts.reserve(1 + frame.payload.size());
  parts.emplace_back(frame.head.data(), frame.head.size());
  for (const ConstBytes part : frame.payload) {
    parts.emplace_back(part.data(), part.size());
  }
  auto on_written = [self = shared_from_this(), done = std::move(done)](
                        const ErrorCode& error) { done(error); };
  if (tls_ != nullptr) {
    return tls_->Write(std::move(parts), std::move(on_written));
  }
  written_ = 0;
  asio::async_write(
      socket_, std::move(parts),
      [this](const ErrorCode& error, size_t transferred) {
        written_ = transferred;
        return UntilDone(error, transferred);
      },
      [on_written = std::move(on_written)](
          const ErrorCode& error, size_t /*bytes*/) { on_written(error); });
}

void FrameStream::Linger(double seconds, std::function<void()> done) {
  auto timer = std::make_shared<Timer>(socket_.get_executor());
  timer->expires_at(DeadlineAfter(seconds));
  timer->async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (!error) self->Close();
  });
  if (tls_ == nullptr) return StopSending(std::move(timer), std::move(done));
  tls_->End([self = shared_from_this(), timer = std::move(timer),
             done = std::move(done)](const ErrorCode& /*ignored*/) {
    self->StopSending(timer, done);
  });
}

void FrameStream::StopSending(std::shared_ptr<Timer> timer,
                              std::function<void()> done) {
  ErrorCode ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  Discard(std::move(timer), std::move(done));
}

void FrameStream::Discard(std::shared_ptr<Timer> timer,
                          std::function<void()> done) {
  socket_.async_read_some(
      asio::buffer(header_bytes_),
      [self = shared_from_this(), timer = std::move(timer),
       done = std::move(done)](const ErrorCode& error, size_t /*bytes*/) {
        if (!error) return self->Discard(timer, done);
        timer->cancel();
        done();
      });
}

void FrameStream::CancelRead() {
  read_cancelled_ = true;
  if (tls_ != nullptr) tls_->StopReading();
  ErrorCode ignored;
  socket_.cancel(ignored);
}

void FrameStream::Close() {
  read_cancelled_ = true;
  if (tls_ != nullptr) tls_->Stop();
  ErrorCode ignored;
  socket_.close(ignored);
}

}  // namespace persia
