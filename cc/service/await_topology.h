// AwaitTopology: tells a process what is known of the cluster, and learns
// what it knows, as a blocking call.

#ifndef PERSIA_CC_SERVICE_AWAIT_TOPOLOGY_H_
#define PERSIA_CC_SERVICE_AWAIT_TOPOLOGY_H_

#include <utility>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/await.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Blocks for at most `seconds`. Must not be called on a thread of the service:
// see Await.
inline Status AwaitTopology(EmbeddingService* service, double seconds,
                            TopologyRequest* request) {
  request->deadline = DeadlineAfter(seconds);
  return Await([&](DoneCallback done) {
    service->ExchangeTopology(request, std::move(done));
  });
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_AWAIT_TOPOLOGY_H_
