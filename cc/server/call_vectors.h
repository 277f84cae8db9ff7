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
#include "cc/wire/vector_codec.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

class CallVectors {
 public:
  // Decodes a Lookup and gives its tables memory for their rows.
  // kResourceExhausted if there is none, or if the reply, or the rows that bags
  // are pooled from, would be too long.
  Status Decode(ConstBytes body, uint64_t max_reply_bytes,
                LookupRequest* request);

  // The reply to what was decoded last, once its rows are there. It refers to
  // the memory here.
  OutFrame EncodeReply(uint64_t request_id, const LookupRequest& request);

  // Decodes an Update whose gradients are in `body` or here.
  // kResourceExhausted if there is no memory for them, or if the rows that bags
  // are pooled from would be too long.
  Status Decode(ConstBytes body, uint64_t max_row_bytes,
                UpdateRequest* request);

 private:
  ByteBuffer floats_;
  ByteBuffer encoded_;  // A reply's rows, unless they are float32.
  WireDtype reply_dtype_ = WireDtype::kFloat32;
  std::vector<WireVectors> gradients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_VECTORS_H_
