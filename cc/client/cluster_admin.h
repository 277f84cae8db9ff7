// ClusterAdmin: changes which shards a cluster has, and which slots each owns.
//
// Thread-safe: calls run one after the other. Each blocks until the shards that
// it needs have answered, or for the timeout.

#ifndef PERSIA_CC_CLIENT_CLUSTER_ADMIN_H_
#define PERSIA_CC_CLIENT_CLUSTER_ADMIN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/client/remote_service.h"
#include "cc/service/embedding_service.h"
#include "cc/topology/topology.h"

namespace persia {

// What the shards of a cluster know of it.
struct ClusterLook {
  SharedTopology topology;      // Null if the shards belong to no cluster.
  std::set<uint64_t> answered;  // The ids of the shards that answered.
};

class ClusterAdmin {
 public:
  // `addresses` are those of some shards of a cluster.
  ClusterAdmin(std::vector<std::string> addresses, RemoteServiceOptions options,
               double timeout_seconds);

  // Asks all shards of the cluster, and tells each what the others know.
  // Returns the newest topology. Shards that do not answer are left out, unless
  // `all_must_answer`. kFailedPrecondition if the shards belong to no cluster.
  Result<SharedTopology> Fetch(bool all_must_answer);

  // Asks the shards that were listed, all at once, and then those of which they
  // know, except those at the addresses `away`. Unlike Fetch it tells them
  // nothing, so nothing changes. Fails only if none answers, or if they belong
  // to several clusters.
  Result<ClusterLook> Look(const std::vector<std::string>& away = {});

  // Makes the shard at `address`, which belongs to no cluster, a member, which
  // owns nothing yet. Returns its id. Does nothing if it is a member already;
  // one that has left the cluster is a member again.
  Result<uint64_t> Join(const std::string& address);

  // Records that a member, which must own nothing, has left the cluster.
  Status Leave(uint64_t member);

  // Lets the standby at `address` take its primary's place: see
  // StandbyAction::kPromote. Returns once it serves.
  Status Promote(const std::string& address, bool primary_is_gone);

  // Has the member `taker` start or stop to take slots over from
  // request->source, or asks how far it is.
  Status Move(uint64_t taker, MoveRequest* request);

  // Asks a member how busy each slot was.
  Status SlotLoads(uint64_t member, SlotLoadsRequest* request);

 private:
  // The functions below require mutex_ to be held.
  Result<EmbeddingService*> ServiceOf(const std::string& address);
  Result<TopologyRequest> Exchange(const std::string& address);
  std::vector<Result<TopologyRequest>> AskAll(
      const std::vector<std::string>& addresses);
  Status Learn(const std::vector<uint8_t>& topology);
  Status TellAll(bool all_must_answer);
  Result<const Member*> MemberOf(uint64_t id) const;
  Result<EmbeddingService*> ServiceOfMember(uint64_t id);

  const std::vector<std::string> addresses_;
  const RemoteServiceOptions options_;
  const double timeout_seconds_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<EmbeddingService>> services_;
  SharedTopology topology_;  // Null until one was learned.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CLUSTER_ADMIN_H_
