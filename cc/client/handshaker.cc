#include "cc/client/handshaker.h"

#include <utility>

#include "cc/client/refusal.h"

namespace persia {

Handshaker::Handshaker(asio::io_context* context,
                       std::shared_ptr<FrameStream> stream,
                       std::unique_ptr<TlsSession> tls,
                       const std::string& token)
    : stream_(std::move(stream)), tls_(std::move(tls)), timeout_(*context) {
  if (!token.empty()) handshake_.emplace(token);
}

void Handshaker::Start(double seconds, DoneCallback done) {
  done_ = std::move(done);
  stream_->set_max_body_bytes(kMaxHandshakeBodyBytes);
  timeout_.expires_at(DeadlineAfter(seconds));
  timeout_.async_wait(
      [self = shared_from_this(), seconds](const ErrorCode& error) {
        if (error) return;
        self->Finish(
            Status(Code::kUnavailable,
                   Concat("the handshake did not end within ", seconds, " s")));
      });
  auto secured = [self = shared_from_this()](const Status& status) {
    status.ok() ? self->Greet() : self->Finish(status);
  };
  if (tls_ != nullptr) return stream_->Secure(std::move(tls_), secured);
  // Continues from the event loop, since `done` must not be called before Start
  // has returned.
  asio::post(timeout_.get_executor(), [secured] { secured(Status()); });
}

void Handshaker::Greet() {
  if (done_ == nullptr) return;
  if (!handshake_) return Finish(Status());
  const Status status = handshake_->Start(&writing_);
  if (!status.ok()) return Finish(status);
  Write();
}

void Handshaker::Write() {
  stream_->Write(writing_, [self = shared_from_this()](const ErrorCode& error) {
    if (!error) return self->Read();
    self->Finish(Status(Code::kUnavailable, Reason(error)));
  });
}

void Handshaker::Read() {
  if (done_ == nullptr) return;
  stream_->Read(&reading_,
                [self = shared_from_this()](ReadEnd end, const Status& status) {
                  self->OnRead(end, status);
                });
}

void Handshaker::OnRead(ReadEnd end, const Status& status) {
  if (done_ == nullptr) return;
  if (end == ReadEnd::kOtherVersion) {
    return Finish(OtherVersion(stream_->header().version));
  }
  if (end != ReadEnd::kFrame) return Finish(status);
  const Status taken =
      handshake_->Take(stream_->header().type,
                       ConstBytes(reading_.data(), reading_.size()), &writing_);
  if (!taken.ok() || handshake_->is_done()) return Finish(taken);
  Write();
}

void Handshaker::Finish(const Status& status) {
  if (done_ == nullptr) return;
  const DoneCallback done = std::exchange(done_, nullptr);
  timeout_.cancel();
  stream_->set_max_body_bytes(kMaxBodyBytes);
  if (!status.ok()) stream_->Close();
  done(status);
}

void Handshaker::Cancel() {
  done_ = nullptr;
  timeout_.cancel();
  stream_->Close();
}

}  // namespace persia
