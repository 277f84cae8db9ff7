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
#include "cc/server/reply_budget.h"
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
    return body_.size() + vectors_.bytes() + TotalBytes(reply_);
  }

  // What it keeps for later requests: so call it after Clear.
  uint64_t kept() const { return body_.capacity() + vectors_.capacity(); }

  // Gives back what is made anew for each request. Not between Prepare and the
  // reply's end.
  void Clear();

  // Gives memory back where it is more than `bytes`. Not while the service
  // works, nor until a reply with rows is written, nor while the body is read
  // to.
  void Trim(uint64_t bytes);

  // Decodes the body. On an error there is nothing to start.
  Status Prepare(const FrameHeader& header, const ServerOptions& options);

  // What the request and its reply take at most. What is not known, and most
  // often little, is not in it: the tables of a server, say.
  uint64_t needed() const;

  // Takes memory for rows and hands the request to the service. The call must
  // live until `done`.
  void Start(EmbeddingService* service, DoneCallback done);

  // What they take once there is a reply.
  uint64_t held() const;

  // What a connection has taken for it. Ends with the reply.
  ReplyBudget::Charge charge;

  // Makes the reply's frame of what came of it.
  void Finish(const Status& status, const ServerState& server);

  // Makes it of a request that was not even decoded, or whose reply cannot be
  // sent. What the request took is given back.
  void Refuse(uint64_t request_id, const Status& why);

  uint64_t request_id() const { return request_id_; }

  // Takes the reply to what is no request.
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
