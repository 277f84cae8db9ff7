#include "cc/server/connection.h"

#include <algorithm>
#include <utility>

namespace persia {
namespace {

// Calls that keep their memory for later. They are taken last in, first out, so
// more would only be used under a burst.
constexpr size_t kMaxIdleCalls = 4;

// What an idle call may keep for ever.
constexpr uint64_t kKeptBytes = uint64_t{64} << 10;

// Who reads a long reply at this rate reads.
constexpr double kSlowestBytesASecond = 1 << 20;

constexpr EventKind kRefused{"connections refused", EventLevel::kWarning, 20};
constexpr EventKind kStalled{"connections dropped that read no replies",
                             EventLevel::kWarning, 20};
constexpr EventKind kBadFrames{"connections dropped for bad frames",
                               EventLevel::kWarning, 20};

// How long a peer may take to hang up after it was told of the end.
constexpr double kLingerSeconds = 1;

Status OtherVersion(uint16_t of_client) {
  return Status(Code::kFailedPrecondition,
                Concat("this server speaks protocol version ", kProtocolVersion,
                       ", the client ", of_client,
                       ": use the same persia_tf version on both"));
}

Status Silence(bool within_tls) {
  return Status(Code::kUnauthenticated,
                Concat("it did not end the handshake in time: does it ",
                       within_tls ? "speak TLS?" : "have a token?"));
}

Status HungUp() {
  return Status(Code::kUnauthenticated,
                "it hung up amid the handshake: does it have another token?");
}

Status TlsNotSpoken() {
  return Status(
      Code::kUnauthenticated,
      "it speaks TLS, which this server has not: start the server with "
      "--tls-certificate, --tls-key and --tls-ca, or give the client "
      "none of them");
}

Status NoRequest() {
  return Status(Code::kDataLoss, "it sent a message that is no request");
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Mailbox> mailbox,
                       ServerState* server, ClosedCallback on_closed)
    : peer_(PeerOf(socket)),
      handshake_timer_(socket.get_executor()),
      memory_timer_(socket.get_executor()),
      stream_(std::make_shared<FrameStream>(std::move(socket),
                                            server->options.max_body_bytes)),
      mailbox_(std::move(mailbox)),
      server_(server),
      on_closed_(std::move(on_closed)) {}

void Connection::Start() {
  const ServerOptions& options = server_->options;
  if (options.tls != nullptr || !options.auth_token.empty()) LimitHandshake();
  options.tls == nullptr ? Serve() : Secure();
}

void Connection::TurnAway(const Status& why) {
  turned_away_ = why;
  Start();
}

void Connection::CountRefused(const Status& why) {
  ++server_->refused_connections;
  TellEvent(server_->options.events, kRefused, "refused ", peer_, ": ",
            why.message());
}

void Connection::CountBadFrame(const Status& why) {
  ++server_->bad_frames;
  TellEvent(server_->options.events, kBadFrames, "dropped ", peer_, ": ",
            why.message());
}

void Connection::Serve() {
  if (!turned_away_.ok()) return RefuseClient(turned_away_);
  server_->options.auth_token.empty() ? EndHandshake() : StartHandshake();
  ReadNext();
}

// ---- The client proves itself, by TLS and by the token.

// All of it, within one span of time.
void Connection::LimitHandshake() {
  handshake_timer_.expires_at(
      DeadlineAfter(server_->options.handshake_seconds));
  handshake_timer_.async_wait(
      [connection = weak_from_this()](const ErrorCode& error) {
        const auto self = connection.lock();
        if (!error && self != nullptr) self->OnSilence();
      });
}

void Connection::OnSilence() {
  if (closed_ || !(securing_ || handshake_)) return;
  if (!draining_) CountRefused(Silence(securing_));  // Else it is counted.
  Close();
}

void Connection::Secure() {
  auto session = server_->options.tls->NewServerSession();
  if (!session.ok()) return Close();
  securing_ = true;
  stream_->Secure(std::move(*session),
                  [self = shared_from_this()](const Status& status) {
                    self->OnSecured(status);
                  });
}

void Connection::OnSecured(const Status& status) {
  if (closed_) return;
  securing_ = false;
  if (status.ok()) return Serve();
  if (status.code() == Code::kUnavailable) return Close();  // It hung up.
  if (status.code() == Code::kUnauthenticated) return RefuseClient(status);
  CountRefused(status);  // TLS has told it.
  draining_ = true;
  CloseAfterReplies();
}

void Connection::StartHandshake() {
  handshake_.emplace(server_->options.auth_token);
  stream_->set_max_body_bytes(kMaxHandshakeBodyBytes);
}

void Connection::OnHandshakeRead(ReadEnd end, const Status& status) {
  if (end == ReadEnd::kClosed) {
    if (handshake_->is_challenging()) CountRefused(HungUp());
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
    CountBadFrame(status);
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

void Connection::KeepCall(std::shared_ptr<Call> call) {
  const uint64_t bytes = call->bytes();
  if (idle_calls_.size() < kMaxIdleCalls) {
    idle_calls_.push_back(std::move(call));
  }
  if (recent_bytes_) {
    recent_bytes_ = std::max(*recent_bytes_, bytes);
  } else if (bytes > kKeptBytes) {
    recent_bytes_ = bytes;
    StartMemoryTimer();
  }
}

// Fresh memory costs more than the work on it: so what recent requests took is
// kept for the next, and nothing is done a request.
void Connection::StartMemoryTimer() {
  memory_timer_.expires_at(DeadlineAfter(server_->options.memory_seconds));
  memory_timer_.async_wait(
      [connection = weak_from_this()](const ErrorCode& error) {
        const auto self = connection.lock();
        if (!error && self != nullptr && !self->closed_) self->TrimMemory();
      });
}

void Connection::TrimMemory() {
  const uint64_t needed = std::max(kKeptBytes, *recent_bytes_);
  // A buffer may have half as much again as was asked for.
  const uint64_t kept = needed + needed / 2;
  for (const auto& call : idle_calls_) call->Trim(kept);
  const bool reads = reading_ != nullptr && stream_->reads_body();
  if (reading_ != nullptr && !reads) reading_->Trim(kept);
  recent_bytes_.reset();
  if (!reads && needed == kKeptBytes) return;
  recent_bytes_ = 0;
  StartMemoryTimer();
}

void Connection::ReadNext() {
  if (closed_ || draining_ || reading_ != nullptr ||
      in_flight_ >= server_->options.max_in_flight || HasTooMuchUnwritten()) {
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
  if (end == ReadEnd::kTls) return RefuseTls();
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
  if (end == ReadEnd::kOtherVersion) {
    const Status why = OtherVersion(stream_->header().version);
    CountBadFrame(why);
    return Refuse(stream_->header().request_id, why);
  }
  CountBadFrame(end == ReadEnd::kFrame ? NoRequest() : status);
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
  CountRefused(why);
  Refuse(kConnectionId, why);
}

// The peer is told why the connection ends.
void Connection::Refuse(uint64_t request_id, const Status& why) {
  if (reading_ == nullptr) reading_ = TakeCall();
  reading_->Refuse(request_id, why);
  ReplyLast();
}

// In the words that it understands.
void Connection::RefuseTls() {
  CountRefused(TlsNotSpoken());
  reading_->Answer({NoTlsHere(), {}});
  ReplyLast();
}

void Connection::ReplyLast() {
  std::shared_ptr<Call> call = std::move(reading_);
  reading_ = nullptr;
  ++in_flight_;
  draining_ = true;
  Reply(std::move(call));
}

void Connection::OnDone(std::shared_ptr<Call> call, const Status& status) {
  if (closed_) return;
  call->Finish(status, *server_);
  Reply(std::move(call));
}

void Connection::Reply(std::shared_ptr<Call> call) {
  CountUnwritten(TotalBytes(call->reply()));
  replies_.push_back(std::move(call));
  if (replies_.size() == 1) WriteNext();
}

// Who has none to read is served: so nobody waits for others to read theirs.
bool Connection::HasTooMuchUnwritten() const {
  return unwritten_bytes_ > server_->options.max_unwritten_bytes ||
         (unwritten_bytes_ > 0 && server_->has_too_much_unwritten());
}

void Connection::CountUnwritten(uint64_t bytes) {
  unwritten_bytes_ += bytes;
  server_->unwritten_bytes += bytes;
  if (server_->has_too_much_unwritten()) server_->drop_stalled();
}

void Connection::CountWritten(uint64_t bytes) {
  unwritten_bytes_ -= bytes;
  server_->unwritten_bytes -= bytes;
}

void Connection::DropIfStalled() {
  if (closed_ || replies_.empty() || !server_->has_too_much_unwritten()) return;
  const uint64_t bytes = TotalBytes(replies_.front()->reply());
  const double seconds = server_->options.unread_seconds +
                         static_cast<double>(bytes) / kSlowestBytesASecond;
  if (-SecondsUntil(write_began_) < seconds) return;
  TellEvent(server_->options.events, kStalled, "dropped ", peer_,
            ": it did not read its next reply within ", seconds, " s; ",
            unwritten_bytes_, " bytes wait for it, and for all clients over ",
            server_->options.max_unwritten_total_bytes);
  Close();
}

void Connection::WriteNext() {
  write_began_ = Clock::now();
  stream_->Write(replies_.front()->reply(),
                 [self = shared_from_this()](const ErrorCode& error) {
                   self->OnWritten(error);
                 });
}

void Connection::OnWritten(const ErrorCode& error) {
  if (closed_) return;
  if (error) return Close();
  CountWritten(TotalBytes(replies_.front()->reply()));
  KeepCall(std::move(replies_.front()));
  replies_.pop_front();
  --in_flight_;
  if (!replies_.empty()) WriteNext();
  if (draining_) return CloseAfterReplies();
  ReadNext();
}

void Connection::Drain() {
  if (draining_ || closed_) return;
  if (securing_) return Close();
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
  CountWritten(unwritten_bytes_);
  handshake_timer_.cancel();
  memory_timer_.cancel();
  stream_->Close();
  on_closed_(shared_from_this());
}

}  // namespace persia
