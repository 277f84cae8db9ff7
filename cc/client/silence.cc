#include "cc/client/silence.h"

#include <algorithm>
#include <utility>

#include "cc/client/rounded.h"

namespace persia {
namespace {

// The start and the end of an outage are both warnings, so that a log that
// shows the start also shows the end.
constexpr EventKind kSilent{"shards that do not answer", EventLevel::kWarning,
                            10};
constexpr EventKind kBack{"shards that answer again", EventLevel::kWarning, 10};

const char* NameOf(MessageType reply) {
  if (reply == kReplyType<CreateTableRequest>) return "the opening of a table";
  if (reply == kReplyType<LookupRequest>) return "a lookup";
  if (reply == kReplyType<UpdateRequest>) return "an update";
  return "a request";
}

// Whether even a healthy shard may take long to answer the request, because the
// shard reads or writes files for it.
bool MayTakeLong(const ShardRequest& request) {
  return request.reply_type == kReplyType<CheckpointRequest> ||
         request.reply_type == kReplyType<FilesRequest>;
}

}  // namespace

Silence::Silence(EventLog* events, std::string name, double seconds)
    : events_(events),
      name_(std::move(name)),
      longest_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(seconds))) {}

Clock::time_point Silence::TellsAt(
    const ShardRequest& request, bool is_reached,
    std::optional<Clock::time_point> heard_at) const {
  if (events_ == nullptr || since_.has_value() ||
      (is_reached && MayTakeLong(request))) {
    return Clock::time_point::max();
  }
  const Clock::time_point time =
      std::max(request.asked_at, heard_at.value_or(request.asked_at)) +
      longest_;
  return time < request.deadline ? time : Clock::time_point::max();
}

void Silence::Tell(const ShardRequest& oldest, size_t waiting,
                   const std::string& reason) {
  since_ = oldest.asked_at;
  const Clock::time_point now = Clock::now();
  const std::string others =
      waiting > 1 ? Concat(" and ", waiting - 1, " more") : "";
  TellEvent(events_, kSilent, name_, " has not answered for ",
            RoundedSeconds(now - oldest.asked_at), " s: ", reason,
            ". Requests that wait for it: ", NameOf(oldest.reply_type), others,
            ". The oldest fails in ", RoundedSeconds(oldest.deadline - now),
            " s");
}

void Silence::End() {
  if (!since_.has_value()) return;
  TellEvent(events_, kBack, name_, " answers again, after ",
            RoundedSeconds(Clock::now() - *std::exchange(since_, std::nullopt)),
            " s");
}

}  // namespace persia
