// The service of an embedding worker: what stands between many trainers and the
// service that asks the shards.
//
// It takes bags of every table, answers from copies of hot rows, and joins
// lookups that wait for the shards. Its Stats has an entry of its own in front
// of the shards', with the requests that it took and, as tables, its copies:
// the rows held, the ids looked up and those that copies answered.
//
// Thread-safe and asynchronous, as EmbeddingService says.

#ifndef PERSIA_CC_SERVICE_WORKER_SERVICE_H_
#define PERSIA_CC_SERVICE_WORKER_SERVICE_H_

#include <cstdint>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

// Keeps copies of `cache_rows` rows of each table; 0: of none.
std::unique_ptr<EmbeddingService> MakeWorkerService(
    std::unique_ptr<EmbeddingService> shards, uint64_t cache_rows);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_WORKER_SERVICE_H_
