#include "cc/server/connection.h"

#include <algorithm>
#include <utility>

namespace persia {
namespace {

// A peer that reads a long reply at this rate or faster is not dropped as
// stalled.
constexpr double kSlowestBytesASecond = 1 << 20;

// How much a reply may exceed its granted bytes without a check of the budget.
// Replies without rows are shorter than this.
constexpr uint64_t kShortBytes = 4096;

constexpr EventKind kRefused{"connections refused", EventLevel::kWarning, 20};
constexpr EventKind kStalled{"connections dropped that read no replies",
                             EventLevel::kWarning, 20};
constexpr EventKind kBadFrames{"connections dropped for bad frames",
                               EventLevel::kWarning, 20};

// How long a peer may take to close the connection after the last reply to it.
constexpr double kLingerSeconds = 1;

Status OtherVersion(uint16_t of_client) {
  return Status(Code::kFailedPrecondition,
                Concat("this server speaks protocol version ", kProtocolVersion,
                       ", the client ", of_client,
                       ": use the same persia_tf version on both"));
}

Status Silence(bool within_tls) {
  return Status(Code::kUnauthenticated,
                Concat("it did not complete the handshake in time: does it ",
                       within_tls ? "speak TLS?" : "have a token?"));
}

Status HungUp() {
  return Status(Code::kUnauthenticated,
                "it closed the connection during the handshake: does it have "
                "another token?");
}

Status TlsNotSpoken() {
  return Status(
      Code::kUnauthenticated,
      "it speaks TLS, but this server does not: start the server with "
      "--tls-certificate, --tls-key and --tls-ca, or give the client "
      "none of them");
}

Status NoRequest() {
  return Status(Code::kDataLoss, "it sent a message that is not a request");
}

Status NoRoom(uint64_t total_bytes) {
  return Status(
      Code::kResourceExhausted,
      Concat("this server has no room for the reply: unread replies "
             "and requests in progress use all of the ",
             total_bytes, " bytes allowed for them; try again later"));
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Mailbox> mailbox,
                       ServerState* server, ClosedCallback on_closed)
    : peer_(PeerOf(socket)),
      handshake_timer_(socket.get_executor()),
      wait_timer_(socket.get_executor()),
      stream_(std::make_shared<FrameStream>(std::move(socket),
                                            server->options.max_body_bytes)),
      mailbox_(std::move(mailbox)),
      server_(server),
      on_closed_(std::move(on_closed)),
      idle_calls_(std::make_shared<IdleCalls>(
          handshake_timer_.get_executor(), server,
          [stream = stream_.get()] { return stream->reads_body(); })) {}

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

// ---- Handshakes: TLS, then the token.

// Starts the one time limit that covers both the TLS handshake and the token's
// handshake.
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
  // A connection drains if its client was already counted, or if the server is
  // stopping.
  if (!draining_) CountRefused(Silence(securing_));
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
  if (status.code() == Code::kUnavailable) return Close();  // The peer hung up.
  if (status.code() == Code::kUnauthenticated) return RefuseClient(status);
  CountRefused(status);  // TLS has sent the peer an alert.
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
  // A frame that is too long for a handshake is probably a request from a
  // client without a token. TakeHandshake replies to it that a token is needed.
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
  std::shared_ptr<Call> call = TakeRead();
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

// ---- Reading requests and writing replies.

void Connection::ReadNext() {
  if (closed_ || draining_ || reading_ != nullptr || waiting_ != nullptr ||
      in_flight_ >= server_->options.max_in_flight ||
      unwritten_bytes_ > server_->options.max_unwritten_bytes) {
    return;
  }
  reading_ = idle_calls_->Take();
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
  server_->bytes_in.fetch_add(kFrameHeaderBytes + stream_->header().body_bytes,
                              std::memory_order_relaxed);
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

// Returns the call into which a frame was read, and counts it as in flight.
std::shared_ptr<Call> Connection::TakeRead() {
  idle_calls_->EndIdle();
  ++in_flight_;
  return std::exchange(reading_, nullptr);
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
  std::shared_ptr<Call> call = TakeRead();
  call->arrived = Clock::now();
  const Status status = call->Prepare(stream_->header(), server_->options);
  if (!status.ok()) return OnDone(std::move(call), status);
  const auto granted = [wait = ++wait_, mailbox = mailbox_,
                        connection = weak_from_this()] {
    mailbox->Post([wait, connection] {
      if (auto self = connection.lock()) self->OnRoom(wait);
    });
  };
  wait_number_ = server_->budget->Take(call->needed(), granted);
  if (wait_number_ == 0) return Begin(std::move(call));
  waiting_ = std::move(call);
  wait_ends_ = DeadlineAfter(server_->options.request_seconds);
  LimitWait();
}

// Starts a timer that, while a request waits for room in the budget, drops
// peers that occupy room and do not read their replies.
void Connection::LimitWait() {
  wait_timer_.expires_at(DeadlineAfter(server_->options.unread_seconds / 10));
  wait_timer_.async_wait(
      [connection = weak_from_this()](const ErrorCode& error) {
        const auto self = connection.lock();
        if (!error && self != nullptr) self->OnWaitTick();
      });
}

void Connection::OnWaitTick() {
  if (closed_ || waiting_ == nullptr) return;
  server_->drop_stalled();
  if (Clock::now() < wait_ends_) return LimitWait();
  server_->budget->Cancel(wait_number_, waiting_->needed());
  OnDone(std::exchange(waiting_, nullptr),
         NoRoom(server_->budget->total_bytes()));
  ReadNext();
}

void Connection::OnRoom(uint64_t wait) {
  if (closed_ || waiting_ == nullptr || wait != wait_) return;
  wait_timer_.cancel();
  Begin(std::exchange(waiting_, nullptr));
  ReadNext();
}

// Starts a call for which the budget has reserved the needed bytes.
void Connection::Begin(std::shared_ptr<Call> call) {
  call->charge = server_->budget->Given(call->needed());
  // The service may finish on any thread, even after this server was destroyed.
  // Code that does not run on the loop's thread may therefore use only the call
  // and the mailbox.
  call->Start(server_->service,
              [call, mailbox = mailbox_,
               connection = weak_from_this()](const Status& status) {
                mailbox->Run([call, connection, status] {
                  const auto self = connection.lock();
                  if (self != nullptr && !self->closed_) {
                    self->OnDone(call, status);
                  }
                });
              });
}

// Refuses the client itself, for example for lack of a token, rather than one
// of its requests.
void Connection::RefuseClient(const Status& why) {
  CountRefused(why);
  Refuse(kConnectionId, why);
}

// Sends the peer an error that says why the connection ends, and ends it.
void Connection::Refuse(uint64_t request_id, const Status& why) {
  if (reading_ == nullptr) reading_ = idle_calls_->Take();
  reading_->Refuse(request_id, why);
  ReplyLast();
}

// Replies with a TLS alert, which the peer understands.
void Connection::RefuseTls() {
  CountRefused(TlsNotSpoken());
  reading_->Answer({NoTlsHere(), {}});
  ReplyLast();
}

void Connection::ReplyLast() {
  draining_ = true;
  Reply(TakeRead());
}

void Connection::OnDone(std::shared_ptr<Call> call, const Status& status) {
  call->Finish(status, *server_);
  AnsweredRequests& answered = server_->answered[call->place()];
  if (!status.ok()) answered.failed.fetch_add(1, std::memory_order_relaxed);
  answered.latency.Add(Clock::now() - call->arrived);
  Reply(std::move(call));
}

void Connection::Reply(std::shared_ptr<Call> call) {
  ChargeReply(call.get());
  unwritten_bytes_ += TotalBytes(call->reply());
  replies_.push_back(std::move(call));
  if (replies_.size() == 1) WriteNext();
}

// Charges the budget for the actual size of the reply, which is usually smaller
// than the estimate. If the reply is larger, and the budget has no room for the
// increase, an error replaces the reply.
void Connection::ChargeReply(Call* call) {
  if (call->charge.bytes() == 0) call->charge = server_->budget->Given(0);
  if (call->held() > call->charge.bytes() + kShortBytes &&
      !call->charge.TryResize(call->held())) {
    call->Refuse(call->request_id(), NoRoom(server_->budget->total_bytes()));
  }
  call->charge.Resize(call->held());
}

void Connection::DropIfStalled() {
  if (closed_ || replies_.empty() || !server_->budget->has_waiters()) return;
  const double seconds =
      server_->options.unread_seconds +
      static_cast<double>(stream_->written()) / kSlowestBytesASecond;
  if (-SecondsUntil(write_began_) < seconds) return;
  TellEvent(server_->options.events, kStalled, "dropped ", peer_,
            ": it did not read its next reply within ", seconds, " s; ",
            unwritten_bytes_,
            " bytes wait for it, while other requests wait for room in the ",
            server_->budget->total_bytes(), " bytes for all replies");
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
  const uint64_t bytes = TotalBytes(replies_.front()->reply());
  server_->bytes_out.fetch_add(bytes, std::memory_order_relaxed);
  unwritten_bytes_ -= bytes;
  replies_.front()->charge = {};
  idle_calls_->Keep(std::move(replies_.front()));
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
  // CancelRead makes OnRead run, which calls this function again.
  if (reading_ != nullptr) return stream_->CancelRead();
  lingering_ = true;
  stream_->Linger(kLingerSeconds,
                  [self = shared_from_this()] { self->Close(); });
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  if (waiting_ != nullptr) {
    server_->budget->Cancel(wait_number_, waiting_->needed());
  }
  idle_calls_->Close();
  handshake_timer_.cancel();
  wait_timer_.cancel();
  stream_->Close();
  on_closed_(shared_from_this());
}

}  // namespace persia
