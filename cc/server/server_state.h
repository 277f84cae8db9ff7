// ServerState: what the connections of one server share.

#ifndef PERSIA_CC_SERVER_SERVER_STATE_H_
#define PERSIA_CC_SERVER_SERVER_STATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "cc/server/server.h"
#include "cc/service/embedding_service.h"

namespace persia {

struct ServerState {
  EmbeddingService* service = nullptr;
  ServerOptions options;
  std::string address;  // "host:port".
  std::atomic<uint64_t> bad_frames{0};
  std::atomic<uint64_t> refused_connections{0};
  std::atomic<uint64_t> connections{0};
  std::atomic<uint64_t> unwritten_bytes{0};  // Replies of all connections.
  // To be called when these are too much, on any loop: drops who reads none.
  std::function<void()> drop_stalled;

  bool has_too_much_unwritten() const {
    return unwritten_bytes.load(std::memory_order_relaxed) >
           options.max_unwritten_total_bytes;
  }
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_STATE_H_
