// CoalescingService: joins waiting lookups of several callers into one lookup
// of the inner service. An id that several of these lookups need is looked up
// only once.
//
// Joining works like group commit: while max_in_flight lookups of one kind
// (training or read-only) are in flight, later lookups of that kind are queued,
// and are sent as one joined lookup when a lookup in flight ends. A lookup
// joins only lookups that have not been sent yet, so its rows reflect at least
// the updates that they would reflect if it were sent by itself. The store
// counts a joined lookup as one use of each row.
//
// Every lookup has its own deadline and error: if a joined lookup fails, its
// members are sent again one by one, and a lookup never waits for another
// lookup that may end after its own deadline. All other requests go to the
// inner service unchanged.
//
// Thread-safe and asynchronous, as EmbeddingService requires: this class has no
// thread and never waits.

#ifndef PERSIA_CC_SERVICE_COALESCING_SERVICE_H_
#define PERSIA_CC_SERVICE_COALESCING_SERVICE_H_

#include <cstddef>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

struct CoalescingOptions {
  // While this many lookups of one kind are in flight, further lookups of that
  // kind are queued. At least 1.
  size_t max_in_flight = 2;
  // Upper bound of the bytes of rows in one joined lookup, before ids are
  // deduplicated.
  size_t max_joined_bytes = size_t{64} << 20;
};

std::unique_ptr<EmbeddingService> MakeCoalescingService(
    std::unique_ptr<EmbeddingService> inner, const CoalescingOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COALESCING_SERVICE_H_
