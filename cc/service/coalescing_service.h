// CoalescingService: joins waiting lookups of several callers into one lookup
// of the inner service, which is asked only once for an id that several of them
// need.
//
// As in a group commit: while enough lookups of one kind (training or
// read-only) are in flight, later ones are queued, and go out as one when a
// lookup in flight ends. A lookup joins only one that has not been sent yet, so
// it sees at least what it would have seen by itself. To the store, joined
// lookups are one lookup: it counts one use per row.
//
// Every lookup keeps its own deadline and error: the members of a joined lookup
// that failed are sent again one by one, and a lookup never waits for one that
// may end after its deadline. All other requests are passed on unchanged.
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
  // With this many lookups of one kind in flight, further ones are queued. At
  // least 1.
  size_t max_in_flight = 2;
  // Upper bound of the rows in one joined lookup, before ids are deduplicated.
  size_t max_joined_bytes = size_t{64} << 20;
};

std::unique_ptr<EmbeddingService> MakeCoalescingService(
    std::unique_ptr<EmbeddingService> inner, const CoalescingOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COALESCING_SERVICE_H_
