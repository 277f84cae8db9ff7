// Call: one request at a server, from its frame to the reply's frame.
//
// Owns all memory that the service and the reply refer to, and is reused for
// later requests so that this memory is too. Not thread-safe.

#ifndef PERSIA_CC_SERVER_CALL_H_
#define PERSIA_CC_SERVER_CALL_H_

#include <cstdint>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/server/call_vectors.h"
#include "cc/server/reply_budget.h"
#include "cc/server/server_state.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

bool IsRequest(MessageType type);

class Call {
 public:
  // The buffer to read the request's body into.
  ByteBuffer* body() { return &body_; }

  // Roughly the memory that the request and its reply took.
  uint64_t bytes() const {
    return body_.size() + vectors_.bytes() + TotalBytes(reply_);
  }

  // The memory that is retained for later requests. Call Clear before.
  uint64_t kept() const { return body_.capacity() + vectors_.capacity(); }

  // Frees what is allocated anew for each request. Not between Prepare and the
  // end of the reply.
  void Clear();

  // Frees each buffer that is larger than `bytes`. Not while the service works
  // on the request, before a reply with rows has been written, or while the
  // body is being read.
  void Trim(uint64_t bytes);

  // Decodes the body. After an error, do not call Start.
  Status Prepare(const FrameHeader& header, const ServerOptions& options);

  // The most memory that the request and its reply take. It leaves out what
  // cannot be known and is mostly small, such as the list of a server's tables.
  uint64_t needed() const;

  // Allocates memory for rows and hands the request to the service. The call
  // must live until `done`.
  void Start(EmbeddingService* service, DoneCallback done);

  // The memory that request and reply take once there is a reply.
  uint64_t held() const;

  // What the connection has been granted for this call. Released with the
  // reply.
  ReplyBudget::Charge charge;

  // Sets the reply's frame from the request's outcome.
  void Finish(const Status& status, const ServerState& server);

  // Makes the reply an error, for a request that was not decoded or whose reply
  // cannot be sent. Frees the memory that the request took.
  void Refuse(uint64_t request_id, const Status& why);

  uint64_t request_id() const { return request_id_; }

  // Sets the reply to a message that is not a request.
  void Answer(OutFrame reply);

  // Refers to the call's memory.
  const OutFrame& reply() const { return reply_; }

 private:
  Status Decode(const ServerOptions& options);
  Status TakeMemory();
  uint64_t NeededForReply() const;
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
