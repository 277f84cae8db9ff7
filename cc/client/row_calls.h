// Lookup and Update over many shards.

#ifndef PERSIA_CC_CLIENT_ROW_CALLS_H_
#define PERSIA_CC_CLIENT_ROW_CALLS_H_

#include "cc/base/byte_buffer.h"
#include "cc/client/fan_out.h"
#include "cc/client/object_pool.h"
#include "cc/client/partition.h"
#include "cc/service/embedding_service.h"

namespace persia {

// What a call needs beside the caller's memory.
struct RowScratch {
  Partition partition;
  ByteBuffer gradients;  // By table and shard; none for a single shard.
};
using RowScratchPool = ObjectPool<RowScratch>;

// `channels` and `pool` must outlive the call.
void StartLookup(const Channels* channels, RowScratchPool* pool,
                 LookupRequest* request, DoneCallback done);
void StartUpdate(const Channels* channels, RowScratchPool* pool,
                 UpdateRequest* request, DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_CALLS_H_
