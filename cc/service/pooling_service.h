// PoolingService: accepts bags of any table, in front of a service that accepts
// only plain ids.
//
// A lookup asks the inner service for the rows of the bags' unique ids and
// pools them; an update turns the gradients of the bags' vectors into those of
// the unique ids' rows, and passes them on with the same client and sequence.
// Requests without bags are passed on unchanged.
//
// Thread-safe and asynchronous, as EmbeddingService says: it has no thread and
// never waits; pooling runs on the thread that completes the inner lookup.

#ifndef PERSIA_CC_SERVICE_POOLING_SERVICE_H_
#define PERSIA_CC_SERVICE_POOLING_SERVICE_H_

#include <cstddef>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

// Largest size of the unique ids' rows of one table in a request; more is
// refused with kResourceExhausted. Bounds the memory that a request can demand
// by its `dim`, which only the store can compare with the table's.
inline constexpr size_t kMaxPooledRowBytes = size_t{1} << 30;

std::unique_ptr<EmbeddingService> MakePoolingService(
    std::unique_ptr<EmbeddingService> inner);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_POOLING_SERVICE_H_
