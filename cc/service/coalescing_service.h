// CoalescingService: joins lookups of many callers that wait for the service
// within, so that it is asked once for an id that several want.
//
// As in a group commit: while enough lookups of one kind (for training, or
// not) are under way, later ones gather, and go as one when one of those ends.
// A lookup joins only what has not been sent yet, so it sees at least what it
// would have seen by itself. To the store lookups that joined are one lookup:
// it counts one use of a row.
//
// Every lookup keeps its own deadline and error: what failed as one is sent
// again one by one, and none waits for others that may end after its deadline.
// All other requests pass as they are.
//
// Thread-safe and asynchronous, as EmbeddingService says: it has no thread and
// never waits.

#ifndef PERSIA_CC_SERVICE_COALESCING_SERVICE_H_
#define PERSIA_CC_SERVICE_COALESCING_SERVICE_H_

#include <cstddef>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

struct CoalescingOptions {
  // Lookups of one kind that are under way while others gather. At least 1.
  size_t max_in_flight = 2;
  // Rows that one joined lookup may ask for, before duplicates are removed.
  size_t max_joined_bytes = size_t{64} << 20;
};

std::unique_ptr<EmbeddingService> MakeCoalescingService(
    std::unique_ptr<EmbeddingService> inner, const CoalescingOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COALESCING_SERVICE_H_
