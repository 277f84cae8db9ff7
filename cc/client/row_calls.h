// Lookup and Update over many shards.

#ifndef PERSIA_CC_CLIENT_ROW_CALLS_H_
#define PERSIA_CC_CLIENT_ROW_CALLS_H_

#include <cstdint>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/client/fan_out.h"
#include "cc/client/object_pool.h"
#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// What a call needs beside the caller's memory.
struct RowScratch {
  Partition partition;
  // Gradients, or weights and state: by table and shard; none for one shard.
  ByteBuffer floats;
};
using RowScratchPool = ObjectPool<RowScratch>;

// Shards with nothing to do are not asked; but somebody must be, if only for
// the generation, or to say that there is no such table.
std::vector<uint32_t> ShardsWithWork(const Partition& partition);

// `channels`, `routes` and `pool` must outlive the call.
void StartLookup(const Channels* channels, const TableRoutes* routes,
                 RowScratchPool* pool, LookupRequest* request,
                 DoneCallback done);
void StartUpdate(const Channels* channels, const TableRoutes* routes,
                 RowScratchPool* pool, UpdateRequest* request,
                 DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_CALLS_H_
