#include "cc/client/link.h"

#include <algorithm>
#include <utility>

#include "cc/client/refusal.h"
#include "cc/wire/frame.h"

namespace persia {

namespace {

Status StillConnecting() {
  return Status(Code::kUnavailable, "still connecting");
}

}  // namespace

Link::Link(asio::io_context* context, const Address& address,
           const RemoteServiceOptions& options, Callbacks callbacks)
    : context_(context),
      address_(address),
      options_(options),
      callbacks_(std::move(callbacks)),
      connector_(context, address),
      backoff_timer_(*context),
      backoff_seconds_(options.first_backoff_seconds),
      last_error_(StillConnecting()) {}

void Link::Connect() {
  if (state_ == State::kIdle) StartConnecting();
}

void Link::StartConnecting() {
  state_ = State::kConnecting;
  connector_.Start([this](const Status& status, std::optional<Socket> socket) {
    OnConnect(status, std::move(socket));
  });
}

void Link::OnConnect(const Status& status, std::optional<Socket> socket) {
  if (!socket) return OnFailure(status);
  auto stream =
      std::make_shared<FrameStream>(std::move(*socket), kMaxBodyBytes);
  if (options_.tls == nullptr && options_.auth_token.empty()) {
    return Use(std::move(stream));
  }
  StartHandshake(std::move(stream));
}

void Link::StartHandshake(std::shared_ptr<FrameStream> stream) {
  std::unique_ptr<TlsSession> tls;
  if (options_.tls != nullptr) {
    auto made = options_.tls->NewClientSession(
        uses_alternate_ ? alternate_->host : address_.host);
    if (!made.ok()) return OnFailure(made.status());
    tls = std::move(*made);
  }
  handshaker_ = std::make_shared<Handshaker>(context_, stream, std::move(tls),
                                             options_.auth_token);
  handshaker_->Start(options_.handshake_seconds,
                     [this, stream](const Status& status) {
                       handshaker_ = nullptr;
                       if (!status.ok()) return OnFailure(status);
                       Use(stream);
                     });
}

void Link::Use(std::shared_ptr<FrameStream> stream) {
  state_ = State::kConnected;
  stream_ = std::move(stream);
  callbacks_.on_connected();
}

void Link::Drop(const Status& why) {
  // The stream is closed first, because OnFailure may end requests, whose
  // memory the stream must then no longer use.
  stream_->Close();
  stream_ = nullptr;
  OnFailure(why);
}

void Link::OnFailure(const Status& why) {
  if (!uses_alternate_) last_error_ = why;
  if (!IsForGood(why) || uses_alternate_) {
    UseAddress(!uses_alternate_ && alternate_.has_value());
    BackOff();
    return callbacks_.on_failed();
  }
  state_ = State::kIdle;
  callbacks_.on_refused(why);
}

void Link::BackOff() {
  if (!callbacks_.is_needed()) {
    state_ = State::kIdle;
    return;
  }
  state_ = State::kBackingOff;
  backoff_timer_.expires_at(DeadlineAfter(backoff_seconds_));
  backoff_seconds_ =
      std::min(2 * backoff_seconds_, options_.max_backoff_seconds);
  backoff_timer_.async_wait([this](const ErrorCode& error) {
    if (error || state_ != State::kBackingOff) return;
    state_ = State::kIdle;
    if (callbacks_.is_needed()) StartConnecting();
  });
}

void Link::Move(const Address& address) {
  if (state_ == State::kShutDown) return;
  Disconnect();
  state_ = State::kIdle;
  address_ = address;
  UseAddress(/*alternate=*/false);
  last_error_ = StillConnecting();
  ResetBackoff();
  if (callbacks_.is_needed()) StartConnecting();
}

void Link::SetAlternate(std::optional<Address> alternate) {
  alternate_ = std::move(alternate);
  // A connection to the former one goes on as one to the server, for as long as
  // it holds.
  uses_alternate_ = uses_alternate_ && alternate_.has_value();
}

void Link::UseAddress(bool alternate) {
  uses_alternate_ = alternate;
  connector_.set_address(alternate ? *alternate_ : address_);
}

void Link::ShutDown() {
  state_ = State::kShutDown;
  Disconnect();
}

void Link::Disconnect() {
  connector_.Cancel();
  backoff_timer_.cancel();
  if (handshaker_ != nullptr) handshaker_->Cancel();
  handshaker_ = nullptr;
  if (stream_ != nullptr) stream_->Close();
  stream_ = nullptr;
}

}  // namespace persia
