// CallVectors: the rows that a lookup's reply carries, or the gradients that an
// update carries, converted between the service's floats and the message's
// dtype; and the request's ids, if they were packed.
//
// Retains its memory for the next call. float32 vectors are never copied: the
// service writes rows into the reply's memory and reads gradients in the
// request's body. Vectors of other dtypes are converted once. Not thread-safe.

#ifndef PERSIA_CC_SERVER_CALL_VECTORS_H_
#define PERSIA_CC_SERVER_CALL_VECTORS_H_

#include <cstdint>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"
#include "cc/wire/request_limits.h"
#include "cc/wire/vector_codec.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

class CallVectors {
 public:
  // Limits on a request's memory, apart from its body.
  struct Limits {
    // The maximum bytes of a reply, and of decoded rows or gradients.
    uint64_t bytes;
    RequestLimits request;
  };

  // Decodes a Lookup, without allocating memory for its tables' rows. Ids that
  // were packed are unpacked, into at most 8 times the body's bytes.
  // kResourceExhausted if the reply, its rows before they are encoded, or the
  // rows from which bags are pooled exceed the limits.
  Status Decode(ConstBytes body, const Limits& limits, LookupRequest* request);

  // Allocates the memory for the rows of the lookup's tables.
  // kResourceExhausted if there is not enough memory.
  Status TakeMemory(LookupRequest* request);

  // Encodes the reply to the last decoded Lookup, whose rows the service has
  // filled. The reply refers to this object's memory.
  OutFrame EncodeReply(uint64_t request_id, const LookupRequest& request);

  // Decodes an Update, except for its gradients, which stay in `body`.
  // kResourceExhausted if the decoded gradients, or the rows to which the
  // gradients of bags are spread, exceed the limits.
  Status Decode(ConstBytes body, const Limits& limits, UpdateRequest* request);

  // Decodes the gradients that are not float32. kResourceExhausted if there is
  // not enough memory.
  Status TakeMemory(UpdateRequest* request);

  // Does nothing, because requests of other types have no vectors.
  template <typename Request>
  Status TakeMemory(Request*) {
    return Status();
  }

  // Resets this object for a request that has no vectors.
  void Clear();

  // The bytes that Decode has allocated, that TakeMemory will allocate for the
  // request decoded last, and that the service will allocate for the rows of
  // its bags.
  uint64_t needed() const {
    return ids_.size() + floats_bytes_ + encoded_bytes_ + other_bytes_;
  }

  // The bytes that Decode and TakeMemory have allocated since the last Clear.
  uint64_t bytes() const {
    return ids_.size() + floats_.size() + encoded_.size();
  }

  // The bytes of all buffers, including memory that is retained for the next
  // call.
  uint64_t capacity() const {
    return ids_.capacity() + floats_.capacity() + encoded_.capacity();
  }

  // Frees each buffer that is larger than `bytes`. Nothing may refer to the
  // buffers.
  void Trim(uint64_t bytes) {
    ids_.Trim(bytes);
    floats_.Trim(bytes);
    encoded_.Trim(bytes);
  }

 private:
  template <typename Request>
  Status CheckIdsAndBags(const Request& request, const Limits& limits);
  void SetNeeded(uint64_t numbers, uint64_t encoded_bytes);
  Status TakeNeeded(const char* what);

  // The last Decode has set these three sizes.
  uint64_t floats_bytes_ = 0;
  uint64_t encoded_bytes_ = 0;
  uint64_t other_bytes_ = 0;  // Rows of bags, and padding.
  ByteBuffer ids_;            // The request's ids, unless they are in its body.
  ByteBuffer floats_;
  ByteBuffer encoded_;  // A reply's rows, unless they are float32.
  WireDtype reply_dtype_ = WireDtype::kFloat32;
  std::vector<WireVectors> gradients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_VECTORS_H_
