// PoolingService: accepts bags of any table, in front of a service that accepts
// only plain ids.
//
// For a lookup, this service requests the rows of the bags' unique ids from the
// inner service and pools them. For an update, it turns the gradients of the
// bags' vectors into gradients of the unique ids' rows, and sends these to the
// inner service with the same client and sequence. Requests without bags go to
// the inner service unchanged.
//
// Thread-safe and asynchronous, as EmbeddingService requires: this class has no
// thread and never waits; pooling runs on the thread that completes the inner
// lookup.

#ifndef PERSIA_CC_SERVICE_POOLING_SERVICE_H_
#define PERSIA_CC_SERVICE_POOLING_SERVICE_H_

#include <cstddef>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

// The maximum size in bytes of the rows of one table's unique ids in a request;
// a larger request is refused with kResourceExhausted. Without this limit a
// wrong `dim`, which only the store can compare with the table's, could make
// this process allocate any amount of memory.
inline constexpr size_t kMaxPooledRowBytes = size_t{1} << 30;

std::unique_ptr<EmbeddingService> MakePoolingService(
    std::unique_ptr<EmbeddingService> inner);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_POOLING_SERVICE_H_
