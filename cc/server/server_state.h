// ServerState: what the connections of one server share.

#ifndef PERSIA_CC_SERVER_SERVER_STATE_H_
#define PERSIA_CC_SERVER_SERVER_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cc/base/latency_histogram.h"
#include "cc/server/reply_budget.h"
#include "cc/server/server.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/message_type.h"

namespace persia {

// The requests of one type that a server has answered.
struct AnsweredRequests {
  // From the arrival of the request's frame until its reply is ready.
  LatencyHistogram latency;
  std::atomic<uint64_t> failed{0};
};

struct ServerState {
  EmbeddingService* service = nullptr;
  ServerOptions options;
  std::string address;  // "host:port".
  std::atomic<uint64_t> bad_frames{0};
  std::atomic<uint64_t> refused_connections{0};
  std::atomic<uint64_t> connections{0};
  // The bytes of whole frames that were read and written.
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bytes_out{0};
  // Indexed like AnyRequest.
  std::array<AnsweredRequests, kRequestCount> answered;
  // Limits the memory of all connections' requests and replies. Must not be
  // null.
  std::shared_ptr<ReplyBudget> budget;
  // Drops connections that do not read their replies. Call it, on any loop,
  // while a request waits for room in the budget.
  std::function<void()> drop_stalled;
  // The memory that all connections retain for later requests.
  std::atomic<uint64_t> kept_bytes{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_STATE_H_
