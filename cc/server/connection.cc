#include "cc/server/connection.h"

#include <utility>

namespace persia {
namespace {

// Calls that keep their memory for later. They are taken last in, first out, so
// more would only be used under a burst.
constexpr size_t kMaxIdleCalls = 4;

// How long a peer may take to hang up after it was told of the end.
constexpr double kLingerSeconds = 1;

Status OtherVersion(uint16_t of_client) {
  return Status(Code::kFailedPrecondition,
                Concat("this server speaks protocol version ", kProtocolVersion,
                       ", the client ", of_client,
                       ": use the same persia_tf version on both"));
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Mailbox> mailbox,
                       ServerState* server, ClosedCallback on_closed)
    : handshake_timer_(socket.get_executor()),
      stream_(std::make_shared<FrameStream>(std::move(socket),
                                            server->options.max_body_bytes)),
      mailbox_(std::move(mailbox)),
      server_(server),
      on_closed_(std::move(on_closed)) {}

void Connection::Start() {
  if (!server_->options.auth_token.empty()) StartHandshake();
  ReadNext();
}

void Connection::TurnAway(const Status& why) {
  reading_ = TakeCall();
  RefuseClient(why);
}

// ---- The client proves itself.

void Connection::StartHandshake() {
  handshake_.emplace(server_->options.auth_token);
  stream_->set_max_body_bytes(kMaxHandshakeBodyBytes);
  handshake_timer_.expires_at(
      DeadlineAfter(server_->options.handshake_seconds));
  handshake_timer_.async_wait(
      [connection = weak_from_this()](const ErrorCode& error) {
        const auto self = connection.lock();
        if (!error && self != nullptr && self->handshake_) self->OnSilence();
      });
}

void Connection::OnSilence() {
  if (closed_) return;
  if (!draining_) ++server_->refused_connections;  // Else it is counted.
  Close();
}

void Connection::OnHandshakeRead(ReadEnd end, const Status& status) {
  if (end == ReadEnd::kClosed) {
    if (handshake_->is_challenging()) ++server_->refused_connections;
    return Close();
  }
  if (end == ReadEnd::kFrame) {
    const ByteBuffer& body = *reading_->body();
    return TakeHandshake(ConstBytes(body.data(), body.size()));
  }
  // Most requests are too long for a handshake, and are told what is wrong.
  if (end == ReadEnd::kTooLong) return TakeHandshake({});
  OnBadFrame(end, status);
}

void Connection::TakeHandshake(ConstBytes body) {
  OutFrame reply;
  const Status status = handshake_->Take(stream_->header().type, body, &reply);
  if (status.code() == Code::kDataLoss) {
    ++server_->bad_frames;
    return Close();
  }
  if (!status.ok()) return RefuseClient(status);
  std::shared_ptr<Call> call = std::move(reading_);
  reading_ = nullptr;
  ++in_flight_;
  call->Answer(std::move(reply));
  Reply(std::move(call));
  if (handshake_->is_done()) EndHandshake();
  ReadNext();
}

void Connection::EndHandshake() {
  handshake_.reset();
  handshake_timer_.cancel();
  stream_->set_max_body_bytes(server_->options.max_body_bytes);
}

// ---- Requests come.

std::shared_ptr<Call> Connection::TakeCall() {
  if (idle_calls_.empty()) return std::make_shared<Call>();
  std::shared_ptr<Call> call = std::move(idle_calls_.back());
  idle_calls_.pop_back();
  return call;
}

void Connection::ReadNext() {
  if (closed_ || draining_ || reading_ != nullptr ||
      in_flight_ >= server_->options.max_in_flight ||
      unwritten_bytes_ > server_->options.max_unwritten_bytes) {
    return;
  }
  reading_ = TakeCall();
  stream_->Read(reading_->body(),
                [self = shared_from_this()](ReadEnd end, const Status& status) {
                  self->OnRead(end, status);
                });
}

void Connection::OnRead(ReadEnd end, const Status& status) {
  if (closed_) return;
  if (draining_) {
    reading_ = nullptr;
    return CloseAfterReplies();
  }
  if (handshake_) return OnHandshakeRead(end, status);
  if (end == ReadEnd::kClosed) return Close();
  if (end != ReadEnd::kFrame) return OnBadFrame(end, status);
  const MessageType type = stream_->header().type;
  if (IsRequest(type)) {
    OnRequest();
    return ReadNext();
  }
  if (type == MessageType::kHello && server_->options.auth_token.empty()) {
    return RefuseClient(NoTokenHere());
  }
  OnBadFrame(end, status);
}

void Connection::OnBadFrame(ReadEnd end, const Status& status) {
  ++server_->bad_frames;
  if (end == ReadEnd::kOtherVersion) {
    return Refuse(stream_->header().request_id,
                  OtherVersion(stream_->header().version));
  }
  if (end == ReadEnd::kTooLong) {
    return Refuse(stream_->header().request_id, status);
  }
  Close();
}

void Connection::OnRequest() {
  std::shared_ptr<Call> call = std::move(reading_);
  reading_ = nullptr;
  ++in_flight_;
  const Status status = call->Prepare(stream_->header(), server_->options);
  if (!status.ok()) return OnDone(std::move(call), status);
  // The service may finish on any thread and after this server has gone: until
  // back in the loop, only the call itself and the mailbox are safe to touch.
  call->Start(server_->service,
              [call, mailbox = mailbox_,
               connection = weak_from_this()](const Status& status) {
                mailbox->Run([call, connection, status] {
                  if (auto self = connection.lock()) self->OnDone(call, status);
                });
              });
}

// Whoever it is, and not what was sent, is the reason.
void Connection::RefuseClient(const Status& why) {
  ++server_->refused_connections;
  Refuse(kConnectionId, why);
}

// The peer is told why the connection ends.
void Connection::Refuse(uint64_t request_id, const Status& why) {
  std::shared_ptr<Call> call = std::move(reading_);
  reading_ = nullptr;
  ++in_flight_;
  draining_ = true;
  call->Refuse(request_id, why);
  Reply(std::move(call));
}

void Connection::OnDone(std::shared_ptr<Call> call, const Status& status) {
  if (closed_) return;
  call->Finish(status, *server_);
  Reply(std::move(call));
}

void Connection::Reply(std::shared_ptr<Call> call) {
  unwritten_bytes_ += BodyBytes(call->reply());
  replies_.push_back(std::move(call));
  if (replies_.size() == 1) WriteNext();
}

void Connection::WriteNext() {
  stream_->Write(replies_.front()->reply(),
                 [self = shared_from_this()](const ErrorCode& error) {
                   self->OnWritten(error);
                 });
}

void Connection::OnWritten(const ErrorCode& error) {
  if (closed_) return;
  if (error) return Close();
  unwritten_bytes_ -= BodyBytes(replies_.front()->reply());
  if (idle_calls_.size() < kMaxIdleCalls) {
    idle_calls_.push_back(std::move(replies_.front()));
  }
  replies_.pop_front();
  --in_flight_;
  if (!replies_.empty()) WriteNext();
  if (draining_) return CloseAfterReplies();
  ReadNext();
}

void Connection::Drain() {
  if (draining_ || closed_) return;
  draining_ = true;
  CloseAfterReplies();
}

void Connection::CloseAfterReplies() {
  if (in_flight_ > 0 || lingering_) return;
  if (reading_ != nullptr) return stream_->CancelRead();  // Back in OnRead.
  lingering_ = true;
  stream_->Linger(kLingerSeconds,
                  [self = shared_from_this()] { self->Close(); });
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  handshake_timer_.cancel();
  stream_->Close();
  on_closed_(shared_from_this());
}

}  // namespace persia
