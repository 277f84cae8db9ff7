// FanOut: one call of the service: a request to each of several shards, whose
// replies are joined.
//
// It keeps itself alive until the last shard has answered; only then is the
// caller's request done. Replies may arrive on different threads concurrently,
// so each shard's reply is stored separately.

#ifndef PERSIA_CC_CLIENT_FAN_OUT_H_
#define PERSIA_CC_CLIENT_FAN_OUT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/base/status.h"
#include "cc/client/channel.h"
#include "cc/client/shard_request.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

using Channels = std::vector<std::unique_ptr<Channel>>;

class FanOut : public std::enable_shared_from_this<FanOut> {
 public:
  virtual ~FanOut() = default;

 protected:
  FanOut(const Channels* channels, Deadline deadline, DoneCallback done)
      : channels_(channels), deadline_(deadline), done_(std::move(done)) {}

  uint32_t shard_count() const {
    return static_cast<uint32_t>(channels_->size());
  }

  // Asks these shards, at least one. The call's outcome is that of
  // OnAllReplied, or the error of the lowest-numbered shard that failed.
  void Ask(const std::vector<uint32_t>& shards, MessageType reply_type,
           bool retry_unavailable);
  void AskAll(MessageType reply_type);

  // Fails the call without asking any shard.
  void Fail(const Status& status) { done_(status); }

  // The returned frame may refer to memory of this object and of the caller.
  virtual OutFrame Encode(uint32_t shard, uint64_t request_id) = 0;
  virtual Status OnReply(uint32_t shard, ConstBytes body) = 0;
  // Memory that a shard's reply is read into directly. If it is, OnPlacedReply
  // is called instead of OnReply, with the reply's head alone.
  virtual ReplyPlaces PlacesOf(uint32_t /*shard*/) { return ReplyPlaces(); }
  virtual Status OnPlacedReply(uint32_t /*shard*/, ConstBytes /*head*/) {
    return Status();
  }
  // Returns the shard's error, or ok if the call succeeds without that shard.
  // May be called for several shards concurrently.
  virtual Status OnFailed(uint32_t /*shard*/, const Status& error) {
    return error;
  }
  virtual Status OnAllReplied() = 0;

 private:
  void End(uint32_t shard, const Status& reply);

  const Channels* const channels_;
  const Clock::time_point asked_at_ = Clock::now();
  const Deadline deadline_;
  const DoneCallback done_;

  std::mutex mutex_;
  size_t unanswered_ = 0;      // Guarded by mutex_.
  uint32_t failed_shard_ = 0;  // Guarded by mutex_.
  Status error_;               // Guarded by mutex_; failed_shard_'s.
};

// Sets `joined` to the generation that the shards agree on. kFailedPrecondition
// if they do not: this is not an outage, since all of them answered.
Status JoinGenerations(const std::vector<uint64_t>& generations,
                       uint64_t* joined);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_FAN_OUT_H_
