// TopologyRequest: asks a process which cluster its shard belongs to, and tells
// it what the caller knows of the cluster.

#ifndef PERSIA_CC_SERVICE_TOPOLOGY_REQUEST_H_
#define PERSIA_CC_SERVICE_TOPOLOGY_REQUEST_H_

#include <cstdint>
#include <vector>

#include "cc/base/clock.h"
#include "cc/topology/topology.h"

namespace persia {

struct TopologyRequest {
  // Above the size of any topology: 12 bytes a slot, and a hundred a member.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 23;

  Deadline deadline;
  // Input: an encoded topology, or nothing. A shard that belongs to no cluster
  // joins that of `told` if it is a member there, and any other shard learns
  // what is newer there. Fails with kFailedPrecondition if `told` is of another
  // cluster than the shard's.
  std::vector<uint8_t> told;
  // Input: whether `told` is a new cluster, of which a shard that belongs to
  // another one already takes no notice.
  bool founds = false;

  // Output: the shard's id; 0 if the process is no shard, such as an embedding
  // worker.
  uint64_t member = 0;
  // Output: the shard's encoded topology, afterwards; nothing if the shard
  // belongs to no cluster.
  std::vector<uint8_t> topology;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_TOPOLOGY_REQUEST_H_
