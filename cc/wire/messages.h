// Messages: the bodies of frames. All numbers are little-endian. Every field
// starts at a multiple of its size, and arrays of 8-byte numbers start at a
// multiple of 8 from the body's start, so that a decoder can point into the
// body.
//
//   text          = u32 length, bytes, zero padding to a multiple of 8 from the
//                   body's start
//   Error         = u32 code, u32 0, text message
//   config        = u32 dim, f32 default value, u64 seed, u32 shard index,
//                   u32 shard count, text name, text initializer,
//                   text optimizer, text row dtype, text capacity,
//                   text admission, text eviction  (Specs in canonical text)
//   CreateTable   = u64 identity, u32 step,
//                   u32 replaces optimizer (0 or 1), config
//   CreateTableReply = u64 rows, u64 generation, u64 identity, u32 state,
//                   u32 takes bags (0 or 1), text optimizer
//   table         = u64 key, u64 ids, u32 dim, u32 combiner, u64 bag offsets
//                   (0: none), u64 weights (0: none)                (40 bytes)
//   arrays        = ids x i64, bag offsets x u32, weights x f32; each padded
//                   to a multiple of 8
//   vectors       = those of one table, encoded by dtype (vector_codec.h says
//                   what the numbers mean); padded to a multiple of 8
//                   0 float32:  vectors x dim x f32
//                   1 float16:  f32 scale, u32 0, vectors x dim x f16
//                   2 bfloat16: vectors x dim x bf16
//                   3 int8:     vectors x f32 scale, vectors x dim x i8
//   Lookup        = u64 client, u64 visible sequence, u32 flags (1: read only),
//                   u32 tables, u32 dtype of the reply, u32 0,
//                   tables x (table, u32 absent, u32 0), tables x arrays
//                   (absent: what a read-only lookup returns for ids without a
//                    row: 0 the table's default, 1 their initial values, 2 NaN)
//   LookupReply   = u64 generation, u32 dtype, u32 0, tables x vectors
//   Update        = u64 client, u64 sequence, u64 generation, u32 tables,
//                   u32 0, tables x (table, f32 learning rate, u32 dtype,
//                   u32 step, u32 0), tables x (arrays, vectors)
//   UpdateReply   = u64 applied, u64 non-finite, u64 absent
//   Stats         = nothing
//   StatsReply    = u32 processes, u32 0, processes x process
//   process       = text address, u64 generation, u64 lookups, u64 updates,
//                   u64 repeated updates, u64 bad frames,
//                   u64 refused connections, u64 connections, text source,
//                   u64 behind millis, u32 tables, u32 0, tables x table stats
//   table stats   = text name, u32 dim, u32 0, u64 rows, u64 bytes,
//                   u64 index slots, u64 rows looked up, u64 rows found,
//                   u64 rows updated, u64 non-finite gradients,
//                   u64 absent gradients, u64 evictions, u64 refused
//   Export        = u64 key, u64 position, u32 shard, u32 0, u64 max rows
//   ExportReply   = u64 position, u32 shard, u32 dim, u32 state size,
//                   u32 time (0: no uses; unit of ages: 1 steps, 2 seconds),
//                   rows, uses x (u32 age, u32 count)  (one per row, or none)
//   rows          = u64 ids, ids x i64, ids x dim x f32,
//                   ids x state size x f32           (not padded)
//   Assign        = u64 key, u32 dim, u32 state size (0: initial state), rows
//   AssignReply   = nothing
//   Remove        = u64 key, u64 ids, ids x i64
//   RemoveReply   = u64 removed
//   DropTable     = u64 key, u64 drop id, u32 stays (0 or 1), u32 0
//   DropTableReply = nothing
//   Changes       = u64 follower, u64 epoch, u64 version, u64 base save,
//                   u64 max rows, u64 max bytes, u32 shard, u32 0
//   ChangesReply  = u64 epoch, u64 version, u64 base save, u32 begins,
//                   u32 complete (0 or 1), u32 tables, u32 0,
//                   tables x (config, u64 ids, u64 erased,
//                             u32 fate (0: stays, 1: cleared, 2: dropped),
//                             u32 0),
//                   tables x (ids x i64, erased x i64, ids x dim x f32, padded
//                   to a multiple of 8)
//   texts         = u32 count, u32 0, count x text
//   contents      = u64 length, bytes                (not padded)
//   Checkpoint    = u32 action, u32 shard index, u32 shard count, u32 0,
//                   u64 save id, u64 parent id, u64 generation, text folder,
//                   texts files, contents
//   CheckpointReply = u32 shards, u32 0, shards x progress, texts names,
//                   contents (empty unless the action reads a file)
//   progress      = u32 state, u32 outcome code, u64 rows, u64 total rows,
//                   u64 bytes, u64 base id, text file, text outcome message,
//                   u32 base outcome code, u32 0, text needed checkpoint,
//                   text base outcome message
// (The messages of the handshake are in handshake_messages.h.)
//
// Encoders write the fixed parts into frame->head (after room for the header)
// and refer to large arrays in place: the arrays must outlive the frame.
// Decoders check every length against the body before they use it, and return
// kDataLoss for a body that is not exactly one message. The spans that they
// return point into the body, which must be 8-byte aligned.

#ifndef PERSIA_CC_WIRE_MESSAGES_H_
#define PERSIA_CC_WIRE_MESSAGES_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"
#include "cc/wire/request_limits.h"
#include "cc/wire/vector_codec.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// Requests. Deadlines are not sent: each side has its own.
OutFrame EncodeCreateTable(uint64_t request_id,
                           const CreateTableRequest& request);
OutFrame EncodeLookup(uint64_t request_id, const LookupRequest& request,
                      WireDtype reply_dtype);
// Sends `gradients`, one per table, instead of the request's own.
OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request,
                      const std::vector<WireVectors>& gradients);
OutFrame EncodeStats(uint64_t request_id);
OutFrame EncodeExport(uint64_t request_id, const ExportRequest& request);
OutFrame EncodeAssign(uint64_t request_id, const AssignRequest& request);
OutFrame EncodeRemove(uint64_t request_id, const RemoveRequest& request);
OutFrame EncodeDropTable(uint64_t request_id, const DropTableRequest& request);
// Names `shard`, whatever the request says.
OutFrame EncodeChanges(uint64_t request_id, uint32_t shard,
                       const ChangesRequest& request);
// Names this shard, whatever the request says. Refers to the request's
// contents.
OutFrame EncodeCheckpoint(uint64_t request_id, uint32_t shard_index,
                          uint32_t shard_count,
                          const CheckpointRequest& request);

// kInvalidArgument for an unknown step.
Status DecodeCreateTable(ConstBytes body, CreateTableRequest* request);
// Leaves each table's `rows` empty. Checks that the ids, offsets and dim are
// consistent (offsets rise and end at the number of ids). kInvalidArgument for
// an unknown dtype; kResourceExhausted for more tables than `limits` allows,
// before memory is allocated for them.
Status DecodeLookup(ConstBytes body, LookupRequest* request,
                    WireDtype* reply_dtype, const RequestLimits& limits = {});
// Fills `gradients` and leaves each table's own `gradients` empty.
Status DecodeUpdate(ConstBytes body, UpdateRequest* request,
                    std::vector<WireVectors>* gradients,
                    const RequestLimits& limits = {});
Status DecodeExport(ConstBytes body, ExportRequest* request);
Status DecodeAssign(ConstBytes body, AssignRequest* request);
Status DecodeRemove(ConstBytes body, RemoveRequest* request);
Status DecodeDropTable(ConstBytes body, DropTableRequest* request);
Status DecodeChanges(ConstBytes body, ChangesRequest* request);
Status DecodeCheckpoint(ConstBytes body, CheckpointRequest* request);

// Replies.
OutFrame EncodeError(uint64_t request_id, const Status& status);
// Sends the request's outputs.
OutFrame EncodeCreateTableReply(uint64_t request_id,
                                const CreateTableRequest& request);
// `rows` are the EncodedBytes of each table's rows in this dtype.
OutFrame EncodeLookupReply(uint64_t request_id, uint64_t generation,
                           WireDtype dtype,
                           const std::vector<ConstBytes>& rows);
OutFrame EncodeUpdateReply(uint64_t request_id, const UpdateCounts& counts);
OutFrame EncodeStatsReply(uint64_t request_id,
                          const std::vector<ServiceStats>& processes);
// Refers to the request's page.
OutFrame EncodeExportReply(uint64_t request_id, const ExportRequest& request);
OutFrame EncodeAssignReply(uint64_t request_id);
OutFrame EncodeRemoveReply(uint64_t request_id, uint64_t removed);
OutFrame EncodeDropTableReply(uint64_t request_id);
// Refers to the request's tables.
OutFrame EncodeChangesReply(uint64_t request_id, const ChangesRequest& request);
// Refers to the request's contents.
OutFrame EncodeCheckpointReply(uint64_t request_id,
                               const CheckpointRequest& request);

// The Status that an Error body carries, or kDataLoss.
Status DecodeError(ConstBytes body);
// Fills the request's outputs.
Status DecodeCreateTableReply(ConstBytes body, CreateTableRequest* request);
// The number and length of one table's vectors in a reply.
struct VectorsShape {
  uint64_t count = 0;
  uint32_t dim = 0;
};
// The start of a lookup's reply; the rows of its tables follow, each table's
// padded to a multiple of 8 bytes.
inline constexpr size_t kLookupReplyHeadBytes = 16;
struct LookupReplyHead {
  uint64_t generation = 0;
  WireDtype dtype = WireDtype::kFloat32;
};
Status DecodeLookupReplyHead(ConstBytes head, LookupReplyHead* decoded);
// kDataLoss unless the reply has exactly the rows of `tables`.
Status DecodeLookupReply(ConstBytes body,
                         const std::vector<VectorsShape>& tables,
                         uint64_t* generation, std::vector<WireVectors>* rows);
Status DecodeUpdateReply(ConstBytes body, UpdateCounts* counts);
Status DecodeStatsReply(ConstBytes body, std::vector<ServiceStats>* processes);
// Fills the request's outputs.
Status DecodeExportReply(ConstBytes body, ExportRequest* request);
Status DecodeAssignReply(ConstBytes body);
Status DecodeRemoveReply(ConstBytes body, uint64_t* removed);
Status DecodeDropTableReply(ConstBytes body);
// Fills the request's outputs. kInvalidArgument for a table whose settings are
// not valid, or that has rows although it was dropped.
Status DecodeChangesReply(ConstBytes body, ChangesRequest* request);
// Fills the request's outputs.
Status DecodeCheckpointReply(ConstBytes body, CheckpointRequest* request);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_MESSAGES_H_
