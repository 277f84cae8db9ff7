// ChannelImpl: the implementation of Channel.

#ifndef PERSIA_CC_CLIENT_CHANNEL_IMPL_H_
#define PERSIA_CC_CLIENT_CHANNEL_IMPL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/client/channel.h"
#include "cc/client/link.h"
#include "cc/client/pending_request.h"
#include "cc/client/shard_name.h"
#include "cc/client/silence.h"
#include "cc/client/stall.h"
#include "cc/wire/frame_stream.h"

namespace persia {

// The constructor and the public methods may run on any thread; all other
// methods run on the event loop.
class ChannelImpl : public Channel {
 public:
  ChannelImpl(EventLoop* loop, const Address& address, std::string title,
              const RemoteServiceOptions& options, OnTopology on_topology,
              OnOutage on_outage);

  std::string name() const override { return name_.text(); }
  std::string address() const override { return name_.address(); }
  uint64_t NextRequestId() override { return ++last_request_id_; }
  void Send(ShardRequest request) override;
  void Move(const Address& address) override;
  void SetStandby(const std::string& address) override;
  void Rename(const std::string& title) override;
  void ShutDown() override;

 private:
  using Pending = PendingRequest;
  // Sorted by request id, which is the order of sending.
  using PendingById = std::map<uint64_t, Pending>;

  void Add(ShardRequest request);
  void OnConnected();
  void Drop(const Status& why);
  void ForgetFrames();
  void OnMoved(const Address& address);
  void OnFailed();
  void OnRefused(const Status& why);

  void WriteNext();
  void OnWritten(const ErrorCode& error);
  void ReadNext();
  std::vector<MutableBytes> PlacesFor(const FrameHeader& header);
  void OnRead(ReadEnd end, const Status& status);
  Status TakeGoodbye();
  void OnReply();
  Status TakeReply(MessageType type, const ShardRequest& request);
  void SendAgainLater(const Status& refusal, Pending* pending);

  void WakeAt(Clock::time_point time);
  void OnWake();
  Clock::time_point StallsAt(const Pending& pending) const;
  void DropIfStalled(Clock::time_point now);
  Clock::time_point TellsOfSilenceAt(const Pending& pending) const;
  void TellIfSilent(Clock::time_point now);
  void EndSilence();
  void FailExpired(Clock::time_point now);
  void QueueDue(Clock::time_point now);
  void FailAll(const Status& status);

  const std::shared_ptr<Mailbox> mailbox_;
  ShardName name_;
  const RemoteServiceOptions options_;
  const std::shared_ptr<WireCounters> counters_;
  const OnTopology on_topology_;
  const OnOutage on_outage_;
  std::atomic<uint64_t> last_request_id_{0};
  bool shut_down_ = false;

  Link link_;
  Silence silence_;
  // When the shard's last answer arrived, on this connection or an earlier one.
  std::optional<Clock::time_point> answered_at_;
  PendingById pending_;
  // Ids of requests to write. Some of these requests may have ended already and
  // are no longer in pending_.
  std::deque<uint64_t> to_write_;
  std::optional<uint64_t> writing_;
  bool was_connected_ = false;
  // Holds the body of the frame that is being read, except for vectors that are
  // read directly into a request's `places`.
  ByteBuffer body_;
  // The id of the request whose `places` receive the vectors of the frame that
  // is being read.
  std::optional<uint64_t> placing_;
  // True if the reply in body_ answers the request that is still being written.
  // The reply is handled after the write, which still uses the request's
  // memory.
  bool reply_waits_ = false;

  Timer wake_timer_;
  Clock::time_point wake_at_ = Clock::time_point::max();
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHANNEL_IMPL_H_
