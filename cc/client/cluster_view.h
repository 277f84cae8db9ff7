// ClusterView: the servers of a client at some time, and which of them gets the
// ids of each slot. A call uses one view from its start to its end.
//
// Immutable, and shared by the calls that use it.

#ifndef PERSIA_CC_CLIENT_CLUSTER_VIEW_H_
#define PERSIA_CC_CLIENT_CLUSTER_VIEW_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/slots.h"
#include "cc/client/channel.h"

namespace persia {

struct ClusterView {
  // Indexed by server. The client owns the channels, which live as long as it.
  std::vector<Channel*> channels;
  // The ids of the shards; 0 if the servers are no shards of a cluster.
  std::vector<uint64_t> members;
  // Which of the servers gets the ids of each slot.
  std::shared_ptr<const SlotOwners> owners;
  // Topology::RouteOf each server; 0 if it is no shard of a cluster.
  std::vector<uint64_t> routes;
  // For each server what PartClient mixes into the client id of its parts.
  std::vector<uint64_t> part_keys;

  // Whether the servers are shards of a cluster, each with some of the rows.
  bool has_shards() const {
    return std::any_of(members.begin(), members.end(),
                       [](uint64_t member) { return member != 0; });
  }
  uint32_t size() const { return static_cast<uint32_t>(channels.size()); }
};

using SharedView = std::shared_ptr<const ClusterView>;

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CLUSTER_VIEW_H_
