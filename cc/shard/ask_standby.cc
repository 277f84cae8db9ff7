#include "cc/shard/ask_standby.h"

#include <string>

#include "cc/service/await_topology.h"

namespace persia {
namespace {

constexpr EventKind kReplaced{"shards whose standby has taken their place",
                              EventLevel::kError, 10};
constexpr EventKind kSilent{"standbys that do not answer", EventLevel::kWarning,
                            10};

constexpr double kAskSeconds = 5;

}  // namespace

void AskStandby(EmbeddingService* shard, const ConnectToShard& connect,
                EventLog* events) {
  TopologyRequest own;
  if (connect == nullptr) return;
  if (!AwaitTopology(shard, kAskSeconds, &own).ok()) return;
  const SharedTopology topology = shard->CurrentTopology();
  const Member* const described =
      topology == nullptr ? nullptr : topology->Find(own.member);
  if (described == nullptr || described->standby.empty()) return;
  auto standby = connect(described->standby);
  if (!standby.ok()) return;
  TopologyRequest request;
  const Status asked = AwaitTopology(standby->get(), kAskSeconds, &request);
  if (!asked.ok()) {
    TellEvent(events, kSilent, "the standby at ", described->standby,
              " does not answer whether it has taken this shard's place, so "
              "this shard serves: ",
              asked.message());
    return;
  }
  if (request.topology.empty()) return;  // It has not.
  own.told = request.topology;
  if (!AwaitTopology(shard, kAskSeconds, &own).ok()) return;
  const Member* const now = shard->CurrentTopology()->Find(own.member);
  if (now == nullptr || now->incarnation == described->incarnation) return;
  TellEvent(events, kReplaced, "the standby at ", now->address,
            " has taken this shard's place, so this process owns no rows any "
            "more: stop it, or start it as a standby, with --standby-of ",
            now->address, " and an empty recovery folder");
}

}  // namespace persia
