#include "cc/server/call.h"

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "cc/server/server_stats.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// Upper bound of a reply's bytes other than its rows.
constexpr uint64_t kHeadBytes = 256;

// Whether a request is a lookup or an update. Their rows and gradients are in
// CallVectors, and Call::Clear retains their lists of tables to reuse the
// memory.
template <typename Request>
inline constexpr bool kHasVectors = std::is_same_v<Request, LookupRequest> ||
                                    std::is_same_v<Request, UpdateRequest>;

template <typename Request>
inline constexpr bool kIsPage = std::is_same_v<Request, ExportRequest> ||
                                std::is_same_v<Request, ChangesRequest>;

}  // namespace

Status Call::Prepare(const FrameHeader& header, const ServerOptions& options) {
  Clear();
  request_id_ = header.request_id;
  const bool is_request = ForRequestOf(header.type, [&](auto* typed) {
    request_ = &std::get<std::remove_pointer_t<decltype(typed)>>(requests_);
  });
  if (!is_request) {
    return Status(Code::kInternal, "this message is not a request");
  }
  try {
    return std::visit([&](auto* request) { return Decode(options, request); },
                      request_);
  } catch (const std::bad_alloc&) {
    return Status(
        Code::kResourceExhausted,
        Concat("no memory to decode a request of ", body_.size(), " bytes"));
  }
}

void Call::Clear() {
  reply_ = OutFrame();
  vectors_.Clear();
  std::visit(
      [](auto* request) {
        using Request = std::remove_pointer_t<decltype(request)>;
        if constexpr (!kHasVectors<Request>) *request = Request();
      },
      request_);
}

void Call::Trim(uint64_t bytes) {
  Clear();
  body_.Trim(bytes);
  vectors_.Trim(bytes);
}

uint64_t Call::needed() const { return body_.size() + NeededForReply(); }

bool Call::HasVectors() const {
  return std::visit(
      [](auto* request) {
        return kHasVectors<std::remove_pointer_t<decltype(request)>>;
      },
      request_);
}

uint64_t Call::NeededForReply() const {
  return std::visit(
      [this](auto* request) {
        using Request = std::remove_pointer_t<decltype(request)>;
        if constexpr (kHasVectors<Request>) {
          return vectors_.needed() + kHeadBytes;
        } else {
          return Message<Request>::MostReplyBytes(*request);
        }
      },
      request_);
}

uint64_t Call::held() const {
  // A lookup's reply refers to the rows in vectors_ instead of copying them, so
  // together they take the bytes of vectors_ and of the reply's head.
  const uint64_t reply_bytes =
      HasVectors() ? vectors_.bytes() + reply_.head.size() : TotalBytes(reply_);
  return body_.size() + reply_bytes;
}

template <typename Request>
Status Call::Decode(const ServerOptions& options, Request* request) {
  request->deadline = DeadlineAfter(options.request_seconds);
  const ConstBytes body(body_.data(), body_.size());
  if constexpr (kHasVectors<Request>) {
    return vectors_.Decode(body, {options.max_body_bytes, options.request},
                           request);
  } else {
    const Status status = DecodeRequest(body, request, options.request);
    if constexpr (std::is_same_v<Request, ChangesRequest>) {
      request->max_bytes = std::min(request->max_bytes, options.max_body_bytes);
    }
    return status;
  }
}

void Call::Start(EmbeddingService* service, DoneCallback done) {
  const Status taken = std::visit(
      [&](auto* request) { return vectors_.TakeMemory(request); }, request_);
  if (!taken.ok()) return done(taken);
  service->Call(request_, std::move(done));
}

void Call::Finish(const Status& status, const ServerState& server) {
  if (status.code() == Code::kMoved) return Redirect(status, server);
  if (!status.ok()) return Refuse(request_id_, status);
  reply_ = EncodeReply(server);
}

void Call::Refuse(uint64_t request_id, const Status& why) {
  Trim(0);
  request_id_ = request_id;
  reply_ = EncodeError(request_id, why);
}

// Replies with what the sender needs to route the request anew.
void Call::Redirect(const Status& why, const ServerState& server) {
  const SharedTopology topology = server.service->CurrentTopology();
  const uint64_t request_id = request_id_;
  Trim(0);
  reply_ = EncodeError(request_id, why,
                       topology ? topology->Encode() : std::vector<uint8_t>());
}

void Call::Answer(OutFrame reply) { reply_ = std::move(reply); }

// Returns `reply`, or an error if it is over the limit. The length of a page of
// rows is known only after the tables have filled it.
OutFrame Call::FitRows(OutFrame reply, uint64_t max_body_bytes) const {
  const uint64_t bytes = BodyBytes(reply);
  if (bytes <= max_body_bytes) return reply;
  return EncodeError(
      request_id_,
      Status(Code::kResourceExhausted,
             Concat("a page of rows has ", bytes, " bytes, over the limit of ",
                    max_body_bytes, ": ask for fewer rows at once")));
}

OutFrame Call::EncodeReply(const ServerState& server) {
  return std::visit(
      [&](auto* request) {
        using Request = std::remove_pointer_t<decltype(request)>;
        if constexpr (std::is_same_v<Request, LookupRequest>) {
          return vectors_.EncodeReply(request_id_, *request);
        } else {
          if constexpr (std::is_same_v<Request, StatsRequest>) {
            AddServerStats(server, &request->processes);
          }
          OutFrame reply = persia::EncodeReply(request_id_, *request);
          if constexpr (!kIsPage<Request>) return reply;
          return FitRows(std::move(reply), server.options.max_body_bytes);
        }
      },
      request_);
}

}  // namespace persia
