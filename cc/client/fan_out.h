// FanOut: one call of the service, spread over shards and joined again.
//
// It keeps itself alive until its last shard has answered; only then is the
// caller's request done. Each shard's reply may come on another thread, so it
// goes to a place of its own.

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

  // Asks these shards, at least one; the call's outcome is OnAllReplied's, or
  // the error of the first shard, in their order, that has one.
  void Ask(const std::vector<uint32_t>& shards, MessageType reply_type,
           bool retry_unavailable);
  void AskAll(MessageType reply_type);

  // The call fails without asking anybody.
  void Fail(const Status& status) { done_(status); }

  // The request's frame may refer to memory of this object and of the caller.
  virtual OutFrame Encode(uint32_t shard, uint64_t request_id) = 0;
  virtual Status OnReply(uint32_t shard, ConstBytes body) = 0;
  // A call may give replies places of their own. All but their heads is there
  // once they come.
  virtual ReplyPlaces PlacesOf(uint32_t /*shard*/) { return ReplyPlaces(); }
  virtual Status OnPlacedReply(uint32_t /*shard*/, ConstBytes /*head*/) {
    return Status();
  }
  // A shard's error, or ok if the call does without that shard. Shards' errors
  // may come at once.
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

// What all shards that replied say, or kFailedPrecondition if they do not
// agree: it is no outage, since all of them answer.
Status JoinGenerations(const std::vector<uint64_t>& generations,
                       uint64_t* joined);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_FAN_OUT_H_
