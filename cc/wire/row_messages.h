// The messages that carry ids and vectors: Lookup, its reply, and Update. The
// vectors are encoded in a wire dtype. The structs of the service's requests
// hold floats, so the functions take encoded vectors as separate arguments. Ids
// may be packed, depending on the vectors' wire dtype: see id_layout.h.
// messages.h says what encoders and decoders have in common; row_messages.cc
// has the field lists.

#ifndef PERSIA_CC_WIRE_ROW_MESSAGES_H_
#define PERSIA_CC_WIRE_ROW_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"
#include "cc/wire/request_limits.h"
#include "cc/wire/vector_codec.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

OutFrame EncodeLookup(uint64_t request_id, const LookupRequest& request,
                      WireDtype reply_dtype);
// Decodes a lookup; leaves each table's `rows` empty. Checks that the ids,
// offsets and dim are consistent (offsets rise and end at the number of ids).
// Returns kInvalidArgument for an unknown dtype. Returns kResourceExhausted for
// more tables or packed ids than `limits` allows, before memory is allocated
// for them. Ids that were packed are in `unpacked`, which must outlive their
// use; all other ids are in the body.
Status DecodeLookup(ConstBytes body, LookupRequest* request,
                    WireDtype* reply_dtype, ByteBuffer* unpacked,
                    const RequestLimits& limits = {});

// Encodes an update with `gradients`, one entry per table, instead of the
// request's own gradients.
OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request,
                      const std::vector<WireVectors>& gradients);
// Decodes an update into `request` and `gradients`, and ids as DecodeLookup
// does. Leaves the gradients in `request` empty.
Status DecodeUpdate(ConstBytes body, UpdateRequest* request,
                    std::vector<WireVectors>* gradients, ByteBuffer* unpacked,
                    const RequestLimits& limits = {});

// `rows` has an entry for each table: its rows, encoded in `dtype`.
OutFrame EncodeLookupReply(uint64_t request_id, uint64_t generation,
                           WireDtype dtype,
                           const std::vector<ConstBytes>& rows);
// The number and length of one table's vectors in a reply.
struct VectorsShape {
  uint64_t count = 0;
  uint32_t dim = 0;
};
// The size of the head of a lookup's reply. The rows follow, table by table;
// each table's rows are padded to a multiple of 8 bytes.
inline constexpr size_t kLookupReplyHeadBytes = 16;
struct LookupReplyHead {
  uint64_t generation = 0;
  WireDtype dtype = WireDtype::kFloat32;
};
Status DecodeLookupReplyHead(ConstBytes head, LookupReplyHead* decoded);
// Decodes a lookup's reply. kDataLoss unless the reply has exactly the rows of
// `tables`.
Status DecodeLookupReply(ConstBytes body,
                         const std::vector<VectorsShape>& tables,
                         uint64_t* generation, std::vector<WireVectors>* rows);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ROW_MESSAGES_H_
