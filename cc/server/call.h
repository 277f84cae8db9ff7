// Call: one request at a server, from its frame to its reply's.
//
// It owns all memory that the service and the reply refer to, and is used
// again for later requests so that the memory is too. Not thread-safe.

#ifndef PERSIA_CC_SERVER_CALL_H_
#define PERSIA_CC_SERVER_CALL_H_

#include <cstdint>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/server/call_vectors.h"
#include "cc/server/server_state.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

bool IsRequest(MessageType type);

class Call {
 public:
  // Where the request's body is read to.
  ByteBuffer* body() { return &body_; }

  // About the memory that the request and its reply took.
  uint64_t bytes() const {
    return body_.size() + vectors_.bytes() + BodyBytes(reply_);
  }

  // Gives memory back where it is more than `bytes`. Not between Prepare and
  // the reply's end, nor while the body is read to.
  void Trim(uint64_t bytes);

  // Decodes the body. On an error there is nothing to start.
  Status Prepare(const FrameHeader& header, const ServerOptions& options);

  // Hands the request to the service. The call must live until `done`.
  void Start(EmbeddingService* service, DoneCallback done);

  // Makes the reply's frame of what came of it.
  void Finish(const Status& status, const ServerState& server);

  // Makes it of a request that was not even decoded.
  void Refuse(uint64_t request_id, const Status& why);

  // Takes the reply to what is no request.
  void Answer(OutFrame reply);

  // Refers to the call's memory.
  const OutFrame& reply() const { return reply_; }

 private:
  Status Decode(const ServerOptions& options);
  OutFrame FitRows(OutFrame reply, uint64_t max_body_bytes) const;
  OutFrame EncodeReply(const ServerState& server);

  MessageType type_ = MessageType::kError;
  uint64_t request_id_ = 0;
  ByteBuffer body_;
  CallVectors vectors_;  // Rows of a lookup, or an update's gradients.
  CreateTableRequest create_table_;
  LookupRequest lookup_;
  UpdateRequest update_;
  StatsRequest stats_;
  ExportRequest export_;
  AssignRequest assign_;
  RemoveRequest remove_;
  DropTableRequest drop_;
  ChangesRequest changes_;
  CheckpointRequest checkpoint_;
  OutFrame reply_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_H_
