#include "cc/client/send_anew.h"

#include <memory>
#include <string>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/client/discovery.h"
#include "cc/client/done_after.h"
#include "cc/client/replacement.h"
#include "cc/client/topology_call.h"
#include "cc/wire/asio.h"

namespace persia {
namespace {

// How long a client waits before it asks again who owns the slots, while they
// move.
constexpr double kPauseSeconds = 0.01;

void After(EventLoop* loop, double seconds, DoneCallback done) {
  auto timer = std::make_shared<Timer>(loop->context());
  const bool posted = loop->mailbox()->Post([timer, seconds, done] {
    timer->expires_at(DeadlineAfter(seconds));
    timer->async_wait([timer, done](const ErrorCode&) { done(Status()); });
  });
  if (!posted) done(Status(Code::kCancelled, "the client was closed"));
}

// Whether the shard that answered owns nothing: it belongs to no cluster, or it
// has left the client's.
bool OwnsNothing(const Topology* topology, uint64_t member) {
  if (topology == nullptr) return true;
  const Member* const found = topology->Find(member);
  return found == nullptr || found->has_left;
}

// Tells a server what the client knows of the cluster, and learns what the
// server knows. Another shard than the view's at the same address replaces it,
// unless it has slots of its own.
void Exchange(const CallContext& context, uint32_t server, Deadline deadline,
              DoneCallback done) {
  Members* const members = context.members;
  TopologyRequest request;
  request.deadline = deadline;
  if (const auto topology = members->topology()) {
    request.told = topology->Encode();
  }
  const SharedView view = context.view;
  AskForTopology(view, server, std::move(request),
                 [=](const Status& status, const TopologyRequest& reply) {
                   if (!status.ok()) return done(status);
                   if (!reply.topology.empty()) {
                     const Status learned = members->Learn(reply.topology);
                     if (!learned.ok()) return done(learned);
                   }
                   const uint64_t member = view->members[server];
                   if (reply.member == 0 || member == 0 ||
                       reply.member == member ||
                       !OwnsNothing(members->topology().get(), reply.member)) {
                     return done(Status());
                   }
                   Replace(members, member, reply.member,
                           view->channels[server], deadline, done);
                 });
}

}  // namespace

void WhenRoutable(const CallContext& context,
                  const std::vector<uint32_t>& shards, Deadline deadline,
                  DoneCallback done) {
  if (Clock::now() >= deadline) {
    std::string names;
    for (const uint32_t shard : shards) {
      names +=
          (names.empty() ? "" : ", ") + context.view->channels[shard]->name();
    }
    return done(Status(Code::kDeadlineExceeded,
                       names +
                           ": slots of the request belong to another shard, "
                           "which did not become known in time"));
  }
  if (!context.members->is_settled()) {
    return Discover(context.members, /*founds=*/false, deadline, done);
  }
  // The shard's reply has told of the slots' new owners.
  if (context.members->view() != context.view) return done(Status());
  const auto exchanged = DoneAfter(shards.size(), [=](const Status& status) {
    if (!status.ok()) return done(status);
    if (context.members->view() != context.view) return done(status);
    // The new owner does not know yet that it is.
    After(context.loop, kPauseSeconds, done);
  });
  for (const uint32_t shard : shards) {
    Exchange(context, shard, deadline, exchanged);
  }
}

void SendAnew(const CallContext& context, const std::vector<uint32_t>& shards,
              Deadline deadline, StartPart start, DoneCallback done,
              FailedPart failed) {
  WhenRoutable(context, shards, deadline, [=](const Status& status) {
    const DoneCallback joined = DoneAfter(shards.size(), done);
    for (const uint32_t shard : shards) {
      if (!status.ok()) {
        joined(failed(shard, status));
        continue;
      }
      const Status started = CatchBadAlloc([&] {
        start(shard, joined);
        return Status();
      });
      if (!started.ok()) joined(started);
    }
  });
}

}  // namespace persia
