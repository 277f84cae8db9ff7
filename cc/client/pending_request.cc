#include "cc/client/pending_request.h"

#include "cc/client/rounded.h"

namespace persia {

Status DeadlineError(const PendingRequest& pending, const std::string& name,
                     const Status& outage) {
  const ShardRequest& request = pending.request;
  const std::string what =
      Concat(name, " did not answer within ",
             RoundedSeconds(request.deadline - request.asked_at), " s");
  if (!outage.ok()) {
    return Status(Code::kUnavailable, Concat(what, ": ", outage.message()));
  }
  if (pending.refusal.empty()) return Status(Code::kDeadlineExceeded, what);
  return Status(Code::kDeadlineExceeded, Concat(what, ": ", pending.refusal));
}

}  // namespace persia
