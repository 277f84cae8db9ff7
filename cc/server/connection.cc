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
    : stream_(std::make_shared<FrameStream>(std::move(socket),
                                            server->options.max_body_bytes)),
      mailbox_(std::move(mailbox)),
      server_(server),
      on_closed_(std::move(on_closed)) {}

void Connection::Start() { ReadNext(); }

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
  if (end == ReadEnd::kClosed) return Close();
  if (end == ReadEnd::kFrame && IsRequest(stream_->header().type)) {
    OnRequest();
    return ReadNext();
  }
  ++server_->bad_frames;
  if (end == ReadEnd::kOtherVersion) {
    return Refuse(OtherVersion(stream_->header().version));
  }
  if (end == ReadEnd::kTooLong) return Refuse(status);
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

// The peer is told why the connection ends.
void Connection::Refuse(const Status& why) {
  std::shared_ptr<Call> call = std::move(reading_);
  reading_ = nullptr;
  ++in_flight_;
  draining_ = true;
  call->Refuse(stream_->header().request_id, why);
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
  stream_->Close();
  on_closed_(shared_from_this());
}

}  // namespace persia
