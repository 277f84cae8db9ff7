// CallVectors: the rows that a lookup's reply brings, or the gradients that an
// update brought, as the service and as the client want them.
//
// Keeps its memory for the next call. float32 is never copied: the service
// writes the reply's own rows, and reads gradients in the request's body.
// Another dtype is converted once. Not thread-safe.

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
  // What the memory of a request may be, beside its body's.
  struct Limits {
    // Of a reply, and of rows or gradients while they are worked on.
    uint64_t bytes;
    RequestLimits request;
  };

  // Decodes a Lookup; its tables have no memory for their rows yet.
  // kResourceExhausted if the reply, its rows before they are encoded, or the
  // rows that bags are pooled from, would be too long.
  Status Decode(ConstBytes body, const Limits& limits, LookupRequest* request);

  // Gives them that. kResourceExhausted if there is none.
  Status TakeMemory(LookupRequest* request);

  // The reply to what was decoded last, once its rows are there. It refers to
  // the memory here.
  OutFrame EncodeReply(uint64_t request_id, const LookupRequest& request);

  // Decodes an Update but for its gradients, which are in `body`.
  // kResourceExhausted if they, decoded, or the rows that bags are pooled from
  // would be too long.
  Status Decode(ConstBytes body, const Limits& limits, UpdateRequest* request);

  // Decodes those that are not float32. kResourceExhausted if there is no
  // memory.
  Status TakeMemory(UpdateRequest* request);

  // Of a call that has no vectors.
  void Clear();

  // What TakeMemory will take after the last Decode, and the service for the
  // rows of bags.
  uint64_t needed() const {
    return floats_bytes_ + encoded_bytes_ + other_bytes_;
  }

  // What TakeMemory has taken since the last Decode.
  uint64_t bytes() const { return floats_.size() + encoded_.size(); }

  // With what is kept for the next call.
  uint64_t capacity() const { return floats_.capacity() + encoded_.capacity(); }

  // Gives memory back that has more than `bytes`. Nothing may refer to it.
  void Trim(uint64_t bytes) {
    floats_.Trim(bytes);
    encoded_.Trim(bytes);
  }

 private:
  template <typename Request>
  Status CheckIdsAndBags(const Request& request, const Limits& limits);
  void SetNeeded(uint64_t numbers, uint64_t encoded_bytes);
  Status TakeNeeded(const char* what);

  // By the last Decode:
  uint64_t floats_bytes_ = 0;
  uint64_t encoded_bytes_ = 0;
  uint64_t other_bytes_ = 0;  // Rows of bags, and padding.
  ByteBuffer floats_;
  ByteBuffer encoded_;  // A reply's rows, unless they are float32.
  WireDtype reply_dtype_ = WireDtype::kFloat32;
  std::vector<WireVectors> gradients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_VECTORS_H_
