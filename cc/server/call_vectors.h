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

  // Decodes a Lookup and gives its tables memory for their rows.
  // kResourceExhausted if there is none, or if the reply, its rows before they
  // are encoded, or the rows that bags are pooled from, would be too long.
  Status Decode(ConstBytes body, const Limits& limits, LookupRequest* request);

  // The reply to what was decoded last, once its rows are there. It refers to
  // the memory here.
  OutFrame EncodeReply(uint64_t request_id, const LookupRequest& request);

  // Decodes an Update whose gradients are in `body` or here.
  // kResourceExhausted if there is no memory for them, or if they, decoded, or
  // the rows that bags are pooled from would be too long.
  Status Decode(ConstBytes body, const Limits& limits, UpdateRequest* request);

  // What the last Decode has taken.
  uint64_t bytes() const { return floats_.size() + encoded_.size(); }

  // Gives memory back that has more than `bytes`. Nothing may refer to it.
  void Trim(uint64_t bytes) {
    floats_.Trim(bytes);
    encoded_.Trim(bytes);
  }

 private:
  ByteBuffer floats_;
  ByteBuffer encoded_;  // A reply's rows, unless they are float32.
  WireDtype reply_dtype_ = WireDtype::kFloat32;
  std::vector<WireVectors> gradients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_VECTORS_H_
