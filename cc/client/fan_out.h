// FanOut: the base class of calls that send a request to each of several shards
// and join the shards' replies.
//
// A call object keeps itself alive until the last shard has answered; only then
// is the caller's request done. Replies may arrive on different threads
// concurrently, so each shard's reply is stored separately.

#ifndef PERSIA_CC_CLIENT_FAN_OUT_H_
#define PERSIA_CC_CLIENT_FAN_OUT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/client/cluster_view.h"
#include "cc/client/shard_request.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

class FanOut : public std::enable_shared_from_this<FanOut> {
 public:
  virtual ~FanOut() = default;

 protected:
  // `asked_at` is when the time that the caller grants began.
  FanOut(SharedView view, MessageType reply_type, Deadline deadline,
         DoneCallback done, Clock::time_point asked_at = Clock::now())
      : view_(std::move(view)),
        reply_type_(reply_type),
        asked_at_(asked_at),
        deadline_(deadline),
        done_(std::move(done)) {}

  const ClusterView& view() const { return *view_; }
  uint32_t shard_count() const { return view_->size(); }

  // Sends the request to the given shards, of which there must be at least one.
  // The call's outcome is the result of OnAllReplied, or the error of the
  // lowest-numbered shard that failed.
  void Send(const std::vector<uint32_t>& shards,
            bool retry_unavailable = false);
  void SendToAll();

  // Fails the call before any request has been sent.
  void Fail(const Status& status) { done_(status); }

  // Encodes the request to one shard. The returned frame may refer to memory of
  // this object and of the caller.
  virtual OutFrame Encode(uint32_t shard, uint64_t request_id) = 0;
  // Handles a shard's reply. If this method throws std::bad_alloc, the call
  // fails with kResourceExhausted.
  virtual Status OnReply(uint32_t shard, ConstBytes body) = 0;
  // Returns the memory into which a shard's reply may be read directly. If a
  // reply was read into this memory, OnPlacedReply is called with the reply's
  // head, and OnReply is not called.
  virtual ReplyPlaces PlacesOf(uint32_t /*shard*/) { return ReplyPlaces(); }
  virtual Status OnPlacedReply(uint32_t /*shard*/, ConstBytes /*head*/) {
    return Status();
  }
  // Handles a shard's failure: returns `error`, or ok if the call can succeed
  // without that shard. May be called for several shards concurrently.
  virtual Status OnFailed(uint32_t /*shard*/, const Status& error) {
    return error;
  }
  // Whether a part whose slots have moved is sent anew, by SendAnew. Otherwise
  // kMoved fails the call.
  virtual bool CanSendAnew() const { return false; }
  // Sends the parts of these shards to the present owners of their slots, and
  // calls `done` with the outcome. Called once all shards have answered.
  virtual void SendAnew(const std::vector<uint32_t>& /*shards*/,
                        DoneCallback done) {
    done(Status(Code::kInternal, "this call cannot be sent anew"));
  }
  virtual Status OnAllReplied() { return Status(); }
  // Called instead of OnAllReplied if a shard failed, once all have answered or
  // failed. Returns the call's outcome, which is `error` unless overridden.
  virtual Status OnSomeFailed(const Status& error) { return error; }

 private:
  void End(uint32_t shard, const Status& reply);
  void Conclude(const Status& error);

  const SharedView view_;
  const MessageType reply_type_;
  const Clock::time_point asked_at_;
  const Deadline deadline_;
  const DoneCallback done_;

  std::mutex mutex_;
  size_t unanswered_ = 0;        // Guarded by mutex_.
  std::vector<uint32_t> moved_;  // Guarded by mutex_; shards that said kMoved.
  uint32_t failed_shard_ = 0;    // Guarded by mutex_.
  Status error_;  // Guarded by mutex_; the error of failed_shard_.
};

// Sets `joined` to the generation that all shards report. If their generations
// differ, returns kFailedPrecondition, which does not count as an outage, since
// all shards answered.
Status JoinGenerations(const std::vector<uint64_t>& generations,
                       uint64_t* joined);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_FAN_OUT_H_
