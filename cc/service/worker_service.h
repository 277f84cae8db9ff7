// MakeWorkerService: the service of an embedding worker, which sits between
// many trainers and the client of the PS shards.
//
// The service accepts bags of every table, answers from copies of hot rows, and
// joins lookups that wait for the shards. Its Stats inserts an entry for the
// worker in front of the shards' entries. That entry counts the requests that
// the worker received, and describes its caches as tables: the rows cached, the
// ids looked up and the ids answered from copies.
//
// Thread-safe and asynchronous, as EmbeddingService requires.

#ifndef PERSIA_CC_SERVICE_WORKER_SERVICE_H_
#define PERSIA_CC_SERVICE_WORKER_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "cc/service/embedding_service.h"

namespace persia {

// Caches up to `cache_rows` rows of each table; 0: no cache. `add_counters`,
// which may be null, sets those counters of the worker's entry that the client
// of the shards counts. Any thread may call it.
std::unique_ptr<EmbeddingService> MakeWorkerService(
    std::unique_ptr<EmbeddingService> shards, uint64_t cache_rows,
    std::function<void(ServiceStats*)> add_counters = nullptr);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_WORKER_SERVICE_H_
