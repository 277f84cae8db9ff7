// AskForTopology: tells one server of a client what cluster the client knows,
// and learns what the server knows.

#ifndef PERSIA_CC_CLIENT_TOPOLOGY_CALL_H_
#define PERSIA_CC_CLIENT_TOPOLOGY_CALL_H_

#include <cstdint>
#include <functional>

#include "cc/base/status.h"
#include "cc/client/cluster_view.h"
#include "cc/client/members.h"
#include "cc/service/topology_request.h"

namespace persia {

// Sends the request to a server of the view. `asked_at` is when the time that
// the caller grants began. `done` receives the outcome, and the reply if it is
// OK.
using TopologyDone =
    std::function<void(const Status& status, const TopologyRequest& reply)>;
void AskForTopology(const SharedView& view, uint32_t server,
                    TopologyRequest request, TopologyDone done,
                    Clock::time_point asked_at = Clock::now());

// Learns what the servers of the present view know of the cluster. Servers that
// do not answer before the deadline are left out, and those that have left the
// cluster are not waited for.
void Refresh(Members* members, Deadline deadline, std::function<void()> done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TOPOLOGY_CALL_H_
