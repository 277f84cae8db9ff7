#include "cc/client/channel.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cc/client/channel_impl.h"
#include "cc/client/refusal.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

Status Cancelled() { return Status(Code::kCancelled, "the client was closed"); }

}  // namespace

ChannelImpl::ChannelImpl(EventLoop* loop, const Address& address,
                         std::string title, const RemoteServiceOptions& options,
                         OnTopology on_topology, OnOutage on_outage)
    : mailbox_(loop->mailbox()),
      name_(std::move(title), address),
      options_(options),
      counters_(options.counters ? options.counters
                                 : std::make_shared<WireCounters>()),
      on_topology_(std::move(on_topology)),
      on_outage_(std::move(on_outage)),
      link_(&loop->context(), address, options,
            {[this] { return !pending_.empty(); }, [this] { OnConnected(); },
             [this] { OnFailed(); },
             [this](const Status& why) { OnRefused(why); }}),
      silence_(options.events, name(), options.silence_seconds),
      wake_timer_(loop->context()) {}

// ---- New requests.

void ChannelImpl::Send(ShardRequest request) {
  auto shared = std::make_shared<ShardRequest>(std::move(request));
  const bool posted =
      mailbox_->Post([this, shared] { Add(std::move(*shared)); });
  if (!posted) shared->done(Cancelled());
}

void ChannelImpl::Add(ShardRequest request) {
  if (shut_down_) return request.done(Cancelled());
  const uint64_t id = request.id;
  const Deadline deadline = request.deadline;
  Pending& pending = pending_[id];
  pending.request = std::move(request);
  WakeAt(deadline);
  WakeAt(TellsOfSilenceAt(pending));
  if (link_.stream() == nullptr) return link_.Connect();
  to_write_.push_back(id);
  WriteNext();
}

// ---- Connecting and disconnecting.

void ChannelImpl::OnConnected() {
  if (std::exchange(was_connected_, true)) ++counters_->reconnects;
  for (auto& [id, pending] : pending_) {
    pending.send_again_at.reset();
    pending.sent_at.reset();
    to_write_.push_back(id);
  }
  WriteNext();
  ReadNext();
}

void ChannelImpl::Drop(const Status& why) {
  ForgetFrames();
  link_.Drop(why);
  for (const auto& [id, pending] : pending_) WakeAt(TellsOfSilenceAt(pending));
}

// Forgets the frames of a connection that is about to be closed.
void ChannelImpl::ForgetFrames() {
  to_write_.clear();
  writing_.reset();
  placing_.reset();
  reply_waits_ = false;
}

void ChannelImpl::Move(const Address& address) {
  mailbox_->Post([this, address] { OnMoved(address); });
}

void ChannelImpl::OnMoved(const Address& address) {
  if (shut_down_) return;
  name_.SetAddress(address);
  silence_.set_name(name());
  ForgetFrames();
  for (auto& [id, pending] : pending_) {
    pending.stalls = 0;
    pending.refusal.clear();
    pending.send_again_at.reset();
  }
  link_.Move(address);
}

void ChannelImpl::SetStandby(const std::string& address) {
  const Result<Address> parsed = Address::Parse(address);
  std::optional<Address> standby;
  if (parsed.ok()) standby = *parsed;
  mailbox_->Post([this, standby] { link_.SetAlternate(standby); });
}

void ChannelImpl::Rename(const std::string& title) {
  if (!name_.SetTitle(title)) return;
  mailbox_->Post([this] { silence_.set_name(name()); });
}

// Questions for the topology do not count: they would ask each other for ever.
void ChannelImpl::OnFailed() {
  const bool is_waited_for =
      std::any_of(pending_.begin(), pending_.end(), [](const auto& entry) {
        return entry.second.request.reply_type != kReplyType<TopologyRequest>;
      });
  if (is_waited_for && on_outage_ != nullptr) on_outage_();
}

// Fails all requests, because their retries would be refused as well. The link
// has already closed the connection, which therefore no longer reads or writes
// the requests' memory.
void ChannelImpl::OnRefused(const Status& why) {
  FailAll(Status(why.code(), Concat(name(), ": ", why.message())));
}

// ---- Writing and reading frames.

void ChannelImpl::WriteNext() {
  while (!writing_ && !to_write_.empty()) {
    const auto found = pending_.find(to_write_.front());
    to_write_.pop_front();
    if (found == pending_.end()) continue;
    writing_ = found->first;
    Pending& pending = found->second;
    const bool again = std::exchange(pending.was_sent, true);
    ++(again ? counters_->retries : counters_->requests);
    const uint64_t bytes = TotalBytes(pending.request.frame);
    link_.stream()->Write(
        pending.request.frame,
        [this, bytes, stream = link_.stream()](const ErrorCode& error) {
          if (!error) counters_->bytes_out += bytes;
          if (stream == link_.stream()) OnWritten(error);
        });
  }
}

void ChannelImpl::OnWritten(const ErrorCode& error) {
  const auto written = pending_.find(*std::exchange(writing_, std::nullopt));
  if (written != pending_.end()) {
    written->second.sent_at = Clock::now();
    WakeAt(StallsAt(written->second));
  }
  if (std::exchange(reply_waits_, false)) {
    OnReply();
    if (link_.stream() == nullptr) return;
    ReadNext();
  }
  if (error) return Drop(Status(Code::kUnavailable, Reason(error)));
  WriteNext();
}

void ChannelImpl::ReadNext() {
  placing_.reset();
  link_.stream()->Read(
      &body_,
      [this, stream = link_.stream()](ReadEnd end, const Status& status) {
        if (stream == link_.stream()) OnRead(end, status);
      },
      [this](const FrameHeader& header) { return PlacesFor(header); });
}

std::vector<MutableBytes> ChannelImpl::PlacesFor(const FrameHeader& header) {
  const auto found = pending_.find(header.request_id);
  if (found == pending_.end()) return {};
  const ShardRequest& request = found->second.request;
  if (header.type != request.reply_type || request.places.vectors.empty()) {
    return {};
  }
  uint64_t bytes = request.places.head_bytes;
  for (const MutableBytes part : request.places.vectors) bytes += part.size();
  if (bytes != header.body_bytes) return {};
  placing_ = header.request_id;
  return request.places.vectors;
}

void ChannelImpl::OnRead(ReadEnd end, const Status& status) {
  if (end == ReadEnd::kOtherVersion) {
    return Drop(OtherVersion(link_.stream()->header().version));
  }
  if (end != ReadEnd::kFrame) return Drop(status);
  counters_->bytes_in +=
      kFrameHeaderBytes + link_.stream()->header().body_bytes;
  if (link_.stream()->header().request_id == kConnectionId) {
    return Drop(TakeGoodbye());
  }
  reply_waits_ = writing_ == link_.stream()->header().request_id;
  if (reply_waits_) return;
  OnReply();
  if (link_.stream() != nullptr) ReadNext();
}

// Handles the server's last message on a connection. Returns the server's
// reason for ending the connection.
Status ChannelImpl::TakeGoodbye() {
  const MessageType type = link_.stream()->header().type;
  if (type != MessageType::kError) {
    return Status(Code::kDataLoss,
                  Concat("received a message of type ", static_cast<int>(type),
                         " that answers no request"));
  }
  const Status why = DecodeError(ConstBytes(body_.data(), body_.size()));
  for (auto& [id, pending] : pending_) pending.refusal = why.message();
  return why;
}

void ChannelImpl::OnReply() {
  const FrameHeader& header = link_.stream()->header();
  const auto found = pending_.find(header.request_id);
  // The reply is late if the request has already ended at its deadline.
  if (found == pending_.end()) return;
  const Status status = TakeReply(header.type, found->second.request);
  if (status.code() == Code::kStandby) {
    return Drop(Status(Code::kUnavailable, status.message()));
  }
  link_.ResetBackoff();
  if (status.code() == Code::kUnavailable &&
      found->second.request.retry_unavailable) {
    return SendAgainLater(status, &found->second);
  }
  auto ended = pending_.extract(found);
  answered_at_ = Clock::now();
  EndSilence();
  ended.mapped().request.done(
      status.ok()
          ? status
          : Status(status.code(), Concat(name(), ": ", status.message())));
}

Status ChannelImpl::TakeReply(MessageType type, const ShardRequest& request) {
  const ConstBytes body(body_.data(), body_.size());
  if (type == request.reply_type) {
    return request.on_reply(body, placing_ == request.id);
  }
  if (type == MessageType::kError) {
    ConstBytes topology;
    Status error = DecodeError(body, &topology);
    if (!topology.empty() && on_topology_ != nullptr) on_topology_(topology);
    return error;
  }
  return Status(Code::kDataLoss, Concat("answered with a message of type ",
                                        static_cast<int>(type), " instead of ",
                                        static_cast<int>(request.reply_type)));
}

void ChannelImpl::SendAgainLater(const Status& refusal, Pending* pending) {
  pending->sent_at.reset();
  pending->refusal = refusal.message();
  pending->backoff_seconds =
      std::clamp(2 * pending->backoff_seconds, options_.first_backoff_seconds,
                 options_.max_backoff_seconds);
  pending->send_again_at = DeadlineAfter(pending->backoff_seconds);
  WakeAt(*pending->send_again_at);
}

// ---- Timers.

void ChannelImpl::WakeAt(Clock::time_point time) {
  if (time >= wake_at_) return;
  wake_at_ = time;
  wake_timer_.expires_at(time);
  wake_timer_.async_wait([this](const ErrorCode& error) {
    if (!error && !shut_down_) OnWake();
  });
}

void ChannelImpl::OnWake() {
  wake_at_ = Clock::time_point::max();
  const Clock::time_point now = Clock::now();
  QueueDue(now);
  TellIfSilent(now);
  DropIfStalled(now);
  FailExpired(now);
  for (const auto& [id, pending] : pending_) {
    WakeAt(pending.request.deadline);
    WakeAt(StallsAt(pending));
    WakeAt(TellsOfSilenceAt(pending));
    if (pending.send_again_at) WakeAt(*pending.send_again_at);
  }
}

void ChannelImpl::QueueDue(Clock::time_point now) {
  for (auto& [id, pending] : pending_) {
    if (!pending.send_again_at || *pending.send_again_at > now) continue;
    pending.send_again_at.reset();
    // If there is no connection, OnConnected will send every pending request.
    if (link_.stream() != nullptr) to_write_.push_back(id);
  }
  if (link_.stream() != nullptr) WriteNext();
}

Clock::time_point ChannelImpl::StallsAt(const Pending& pending) const {
  if (link_.stream() == nullptr || !pending.sent_at ||
      pending.stalls == kMostStalls) {
    return Clock::time_point::max();
  }
  const ShardRequest& request = pending.request;
  const Clock::time_point time =
      std::max(*pending.sent_at, link_.stream()->heard_at()) +
      StallWait(request.deadline - request.asked_at, pending.stalls);
  // A request whose deadline has passed must fail and not cause a reconnect,
  // even if the timer fires late. So a stall time that is not before the
  // deadline is replaced with "never".
  return time < request.deadline ? time : Clock::time_point::max();
}

void ChannelImpl::DropIfStalled(Clock::time_point now) {
  const bool is_stalled = std::any_of(
      pending_.begin(), pending_.end(),
      [&](const auto& entry) { return StallsAt(entry.second) <= now; });
  if (!is_stalled) return;
  for (auto& [id, pending] : pending_) {
    if (pending.sent_at && pending.stalls < kMostStalls) ++pending.stalls;
  }
  Drop(Status(Code::kUnavailable,
              "it did not answer for long, so the client reconnected"));
}

Clock::time_point ChannelImpl::TellsOfSilenceAt(const Pending& pending) const {
  // The shard refused this request, which will be sent again. The request
  // counts as unanswered even while the shard answers other requests.
  if (!pending.refusal.empty()) {
    return silence_.TellsAt(pending.request, true, std::nullopt);
  }
  // While a long reply's body is arriving, the shard is not silent.
  std::optional<Clock::time_point> heard_at = answered_at_;
  const bool is_reached = link_.stream() != nullptr;
  if (is_reached && link_.stream()->reads_body()) {
    heard_at = link_.stream()->heard_at();
  }
  return silence_.TellsAt(pending.request, is_reached, heard_at);
}

void ChannelImpl::TellIfSilent(Clock::time_point now) {
  const auto silent = std::find_if(
      pending_.begin(), pending_.end(),
      [&](const auto& entry) { return TellsOfSilenceAt(entry.second) <= now; });
  if (silent == pending_.end()) return;
  const Pending& pending = silent->second;
  const bool connected = link_.stream() != nullptr;
  silence_.Tell(pending.request, pending_.size(),
                !connected ? link_.last_error().message()
                : pending.refusal.empty()
                    ? "it is connected, but does not answer"
                    : pending.refusal);
}

void ChannelImpl::EndSilence() {
  const bool all_done = std::all_of(
      pending_.begin(), pending_.end(),
      [](const auto& entry) { return entry.second.refusal.empty(); });
  if (all_done) silence_.End();
}

void ChannelImpl::FailExpired(Clock::time_point now) {
  const bool connected = link_.stream() != nullptr;
  const auto has_expired = [&](std::optional<uint64_t> id) {
    const auto found = id ? pending_.find(*id) : pending_.end();
    return found != pending_.end() && found->second.request.deadline <= now;
  };
  // A request that ends returns its memory to the caller, so a frame that still
  // uses this memory cannot be completed. The connection must then be closed,
  // since no other frame can follow a partial frame.
  if (has_expired(writing_) || has_expired(placing_)) {
    Drop(Status(Code::kUnavailable,
                "a message stopped midway (is the process stuck?)"));
  }
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->second.request.deadline > now) {
      ++it;
      continue;
    }
    const Status error = DeadlineError(
        it->second, name(), connected ? Status() : link_.last_error());
    const auto ended = pending_.extract(it++);
    ended.mapped().request.done(error);
  }
}

// ---- Shutdown.

void ChannelImpl::FailAll(const Status& status) {
  const PendingById ended = std::exchange(pending_, {});
  for (const auto& [id, pending] : ended) pending.request.done(status);
}

void ChannelImpl::ShutDown() {
  mailbox_->Post([this] {
    shut_down_ = true;
    link_.ShutDown();
    wake_timer_.cancel();
    FailAll(Cancelled());
  });
}

std::unique_ptr<Channel> MakeChannel(EventLoop* loop, const Address& address,
                                     const std::string& title,
                                     const RemoteServiceOptions& options,
                                     OnTopology on_topology,
                                     OnOutage on_outage) {
  return std::make_unique<ChannelImpl>(loop, address, title, options,
                                       std::move(on_topology),
                                       std::move(on_outage));
}

}  // namespace persia
