// Lookup and Update over many shards.

#ifndef PERSIA_CC_CLIENT_ROW_CALLS_H_
#define PERSIA_CC_CLIENT_ROW_CALLS_H_

#include "cc/base/byte_buffer.h"
#include "cc/client/fan_out.h"
#include "cc/client/object_pool.h"
#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// What a call needs beside the caller's memory.
struct RowScratch {
  Partition partition;
  // Gradients, or weights and state, that cannot go from where they lie: by
  // table and shard.
  ByteBuffer buffer;
};
using RowScratchPool = ObjectPool<RowScratch>;

// What the calls of one client share. Must outlive them.
struct RowCallContext {
  const Channels* channels;
  const TableRoutes* routes;
  RowScratchPool* pool;
  WireDtype dtype;  // Of gradients, and asked for of rows.
};

void StartLookup(const RowCallContext& context, LookupRequest* request,
                 DoneCallback done);
void StartUpdate(const RowCallContext& context, UpdateRequest* request,
                 DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_CALLS_H_
