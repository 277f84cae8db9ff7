#include "cc/client/fan_out.h"

#include <new>
#include <numeric>
#include <utility>

namespace persia {
namespace {

Status CheckSize(const OutFrame& frame) {
  const uint64_t bytes = BodyBytes(frame);
  if (bytes <= kMaxBodyBytes) return Status();
  return Status(Code::kResourceExhausted,
                Concat("a request of ", bytes,
                       " bytes to one shard is over the limit of ",
                       kMaxBodyBytes, ": use smaller batches or more shards"));
}

}  // namespace

void FanOut::Send(const std::vector<uint32_t>& shards, bool retry_unavailable) {
  std::vector<ShardRequest> requests(shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    const uint32_t shard = shards[i];
    ShardRequest& request = requests[i];
    request.id = view_->channels[shard]->NextRequestId();
    request.frame = Encode(shard, request.id);
    const Status status = CheckSize(request.frame);
    if (!status.ok()) return Fail(status);
    request.reply_type = reply_type_;
    request.asked_at = asked_at_;
    request.deadline = deadline_;
    request.retry_unavailable = retry_unavailable;
    request.places = PlacesOf(shard);
    request.on_reply = [this, shard](ConstBytes body, bool placed) {
      try {
        return placed ? OnPlacedReply(shard, body) : OnReply(shard, body);
      } catch (const std::bad_alloc&) {
        return Status(Code::kResourceExhausted,
                      Concat("this client has no memory for a reply of ",
                             body.size(), " bytes"));
      }
    };
    request.done = [self = shared_from_this(), shard](const Status& status) {
      self->End(shard, status);
    };
  }
  unanswered_ = shards.size();
  for (size_t i = 0; i < shards.size(); ++i) {
    view_->channels[shards[i]]->Send(std::move(requests[i]));
  }
}

void FanOut::SendToAll() {
  std::vector<uint32_t> shards(shard_count());
  std::iota(shards.begin(), shards.end(), 0);
  Send(shards);
}

void FanOut::End(uint32_t shard, const Status& reply) {
  const bool is_moved = reply.code() == Code::kMoved && CanSendAnew();
  const Status status =
      reply.ok() || is_moved ? Status() : OnFailed(shard, reply);
  Status outcome;
  std::vector<uint32_t> moved;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_moved) moved_.push_back(shard);
    if (!status.ok() && (error_.ok() || shard < failed_shard_)) {
      failed_shard_ = shard;
      error_ = status;
    }
    if (--unanswered_ > 0) return;
    outcome = error_;
    moved = moved_;
  }
  if (moved.empty() || !outcome.ok()) return Conclude(outcome);
  SendAnew(moved, [self = shared_from_this()](const Status& anew) {
    self->Conclude(anew);
  });
}

void FanOut::Conclude(const Status& error) {
  done_(error.ok() ? OnAllReplied() : OnSomeFailed(error));
}

Status JoinGenerations(const std::vector<uint64_t>& generations,
                       uint64_t* joined) {
  for (const uint64_t generation : generations) {
    if (generation == generations.front()) continue;
    return Status(
        Code::kFailedPrecondition,
        Concat("the shards have different generations, ", generations.front(),
               " and ", generation,
               ": if a restore is in progress, try again after it; otherwise a "
               "shard was restarted without its recovery folder after the last "
               "restore, so restore a checkpoint"));
  }
  *joined = generations.front();
  return Status();
}

}  // namespace persia
