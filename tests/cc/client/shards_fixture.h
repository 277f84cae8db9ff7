// Servers on this machine, and a client of them.

#ifndef PERSIA_TESTS_CC_CLIENT_SHARDS_FIXTURE_H_
#define PERSIA_TESTS_CC_CLIENT_SHARDS_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/client/remote_service.h"
#include "cc/server/server.h"
#include "tests/cc/support/holding_service.h"
#include "tests/cc/support/row_requests.h"

namespace persia {

inline constexpr char kUser[] = "user";
inline constexpr char kItem[] = "item";

inline std::string LocalHost(uint16_t port) {
  return Concat("127.0.0.1:", port);
}

// One shard: its service outlives its servers.
class Shard {
 public:
  explicit Shard(const ServerOptions& options = ServerOptions()) {
    Start(options);
  }

  HoldingService* service() { return &service_; }
  uint16_t port() const { return port_; }
  std::string address() const { return LocalHost(port_); }

  // Cuts its connections and frees its port.
  void Kill() { server_ = nullptr; }
  // Starts on the old port, whatever `options` say about the port.
  void Restart(ServerOptions options) {
    options.port = port_;
    Start(options);
  }
  void Restart() { Restart(options_); }
  // Starts on another port, and cuts the connections of the old one.
  void RestartElsewhere() { Start(options_); }

 private:
  void Start(const ServerOptions& options) {
    options_ = options;
    auto server = StartServer(&service_, options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    port_ = server_->port();
  }

  HoldingService service_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
};

inline std::unique_ptr<EmbeddingService> MakeClient(
    const std::vector<std::string>& addresses,
    RemoteServiceOptions options = RemoteServiceOptions()) {
  options.first_backoff_seconds = 0.001;
  options.max_backoff_seconds = 0.02;
  auto client = MakeRemoteService(addresses, options);
  EXPECT_TRUE(client.ok()) << client.status().message();
  return client.ok() ? std::move(*client) : nullptr;
}

// Shards and a client of them all, with the table "user".
class Cluster {
 public:
  explicit Cluster(size_t shard_count) : shards_(shard_count) {
    client_ = MakeClient(addresses());
    CreateRowTable(client(), kUser);
  }

  EmbeddingService* client() { return client_.get(); }
  Shard& shard(size_t i) { return shards_[i]; }

  std::vector<std::string> addresses() const {
    std::vector<std::string> addresses;
    for (const Shard& shard : shards_) addresses.push_back(shard.address());
    return addresses;
  }

  void DestroyClient() { client_ = nullptr; }

 private:
  std::vector<Shard> shards_;
  std::unique_ptr<EmbeddingService> client_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CLIENT_SHARDS_FIXTURE_H_
