// Discovery: how a client finds the cluster of the servers that it was given.
//
// The client asks all of them. A server that belongs to a cluster tells of all
// its members. If all servers are shards that belong to no cluster, and the
// client is about to create a table, it founds one: the shard with the lowest
// id is the first member, so that clients that found the same cluster at the
// same time agree, and then the others join.

#ifndef PERSIA_CC_CLIENT_DISCOVERY_H_
#define PERSIA_CC_CLIENT_DISCOVERY_H_

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/client/members.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Settles `members`, which must outlive the call, or leaves them as they are if
// that takes a new cluster and `founds` is false.
//
// Once a cluster is known, servers that do not answer soon are not waited for.
// A shard that answers at a listed address is reached there from then on, even
// if the cluster knows another address of it.
// Otherwise an error of a server is that of the call. If `founds` is true, all
// servers that answer must belong to the cluster: it fails with
// kFailedPrecondition if some belong to another one or to none, and with
// kInvalidArgument if two addresses are those of one shard, or if shards and
// embedding workers are mixed.
void Discover(Members* members, bool founds, Deadline deadline,
              DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_DISCOVERY_H_
