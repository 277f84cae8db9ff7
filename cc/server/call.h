// Call: one request at a server, from reading the request's frame until the
// reply's frame is written.
//
// A Call owns all memory that the service and the reply refer to. Calls are
// reused for later requests, so that their memory is reused too. Not
// thread-safe.

#ifndef PERSIA_CC_SERVER_CALL_H_
#define PERSIA_CC_SERVER_CALL_H_

#include <cstdint>
#include <tuple>
#include <variant>

#include "cc/base/byte_buffer.h"
#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/server/call_vectors.h"
#include "cc/server/reply_budget.h"
#include "cc/server/server_state.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The buffer to read the request's body into.
  ByteBuffer* body() { return &body_; }

  // The approximate number of bytes that the request and its reply occupy.
  uint64_t bytes() const {
    return body_.size() + vectors_.bytes() + TotalBytes(reply_);
  }

  // The bytes of the buffers that are retained for later requests. Call Clear
  // first.
  uint64_t kept() const { return body_.capacity() + vectors_.capacity(); }

  // Frees the memory that is not reused for the next request. Must not be
  // called after Prepare until the reply has been written.
  void Clear();

  // Like Clear, and also frees each buffer that is larger than `bytes`. Must
  // not be called while the body is being read, while the service works on the
  // request, or before a reply with rows has been written.
  void Trim(uint64_t bytes);

  // Decodes the body. After an error, do not call Start.
  Status Prepare(const FrameHeader& header, const ServerOptions& options);

  // Upper bound of the bytes of the request and its reply, without those parts
  // of a reply whose size is unknown before the service replies, such as the
  // list of a server's tables; most of these parts are small.
  uint64_t needed() const;

  // Allocates memory for rows and hands the request to the service. The Call
  // must live until `done` is called.
  void Start(EmbeddingService* service, DoneCallback done);

  // The bytes of the request and its reply. Call it once the reply is set.
  uint64_t held() const;

  // The bytes that the reply budget has granted for this call. The connection
  // releases them once the reply has been written.
  ReplyBudget::Charge charge;

  // Sets the reply's frame from the request's outcome.
  void Finish(const Status& status, const ServerState& server);

  // Makes the reply an error, for a request that was not decoded or whose reply
  // cannot be sent. Frees the memory that the request took.
  void Refuse(uint64_t request_id, const Status& why);

  uint64_t request_id() const { return request_id_; }

  // The index in AnyRequest of the type of the request that was decoded last.
  size_t place() const { return request_.index(); }

  // When the request's frame had arrived. The connection sets it.
  Clock::time_point arrived;

  // Sets the reply's frame directly, for messages that are not requests, such
  // as those of a handshake.
  void Answer(OutFrame reply);

  // The reply's frame, which refers to memory of this Call.
  const OutFrame& reply() const { return reply_; }

 private:
  // A tuple with one request of each type in AnyRequest.
  template <typename... Requests>
  static std::tuple<Requests...> OneOfEach(std::variant<Requests*...>);
  using Requests = decltype(OneOfEach(AnyRequest()));

  template <typename Request>
  Status Decode(const ServerOptions& options, Request* request);
  uint64_t NeededForReply() const;
  bool HasVectors() const;
  void Redirect(const Status& why, const ServerState& server);
  OutFrame FitRows(OutFrame reply, uint64_t max_body_bytes) const;
  OutFrame EncodeReply(const ServerState& server);

  uint64_t request_id_ = 0;
  ByteBuffer body_;
  CallVectors vectors_;  // Rows of a lookup, or an update's gradients.
  Requests requests_;
  // Points to the element of requests_ that was decoded last.
  AnyRequest request_ = &std::get<StatsRequest>(requests_);
  OutFrame reply_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CALL_H_
