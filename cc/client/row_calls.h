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

// The memory of one call, in addition to the caller's.
struct RowScratch {
  Partition partition;
  // Gradients, or weights and state, that must be converted or regrouped before
  // they are sent: by shard.
  ByteBuffer buffer;
};
using RowScratchPool = ObjectPool<RowScratch>;

// What the calls of one client share. The objects that it points to must
// outlive the calls.
struct RowCallContext {
  const Channels* channels;
  const TableRoutes* routes;
  RowScratchPool* pool;
  WireDtype dtype;  // Of gradients that are sent and rows that are requested.
};

void StartLookup(const RowCallContext& context, LookupRequest* request,
                 DoneCallback done);
void StartUpdate(const RowCallContext& context, UpdateRequest* request,
                 DoneCallback done);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_CALLS_H_
