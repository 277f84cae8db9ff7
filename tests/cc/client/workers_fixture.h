// Embedding workers on this machine, before one shard.

#ifndef PERSIA_TESTS_CC_CLIENT_WORKERS_FIXTURE_H_
#define PERSIA_TESTS_CC_CLIENT_WORKERS_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/service/forwarding_service.h"
#include "tests/cc/client/shards_fixture.h"

namespace persia {

// A service in front of a shard that reports that it takes bags, and records
// the lookups that it gets.
class WorkerService : public ForwardingService {
 public:
  struct Asked {
    uint64_t client;
    uint64_t visible_sequence;
  };

  explicit WorkerService(const std::string& shard)
      : ForwardingService(MakeClient({shard})) {}
  ~WorkerService() override { EndInner(); }

  void RefuseBags() { takes_bags_ = false; }

  std::vector<Asked> lookups() {
    std::lock_guard<std::mutex> lock(mutex_);
    return lookups_;
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    inner()->CreateTable(request, [this, request, done](const Status& status) {
      request->takes_bags = takes_bags_;
      done(status);
    });
  }

  // A worker is no shard of a cluster.
  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override {
    request->member = 0;
    request->topology.clear();
    done(Status());
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      lookups_.push_back({request->client, request->visible_sequence});
    }
    inner()->Lookup(request, std::move(done));
  }

 private:
  bool takes_bags_ = true;
  std::mutex mutex_;
  std::vector<Asked> lookups_;  // Guarded by mutex_.
};

// One shard, two workers in front of it, and a client of both workers.
class WorkersTest : public testing::Test {
 protected:
  WorkersTest() {
    std::vector<std::string> addresses;
    for (int i = 0; i < 2; ++i) {
      services_.push_back(std::make_unique<WorkerService>(shard_.address()));
      auto server = StartServer(services_[i].get(), ServerOptions());
      EXPECT_TRUE(server.ok()) << server.status().message();
      addresses.push_back(LocalHost((*server)->port()));
      servers_.push_back(std::move(*server));
    }
    client_ = MakeClient(addresses);
  }

  WorkerService& worker(size_t i) { return *services_[i]; }

  // Opens the client's table, and returns the answer.
  CreateTableRequest CreateTable() {
    CreateTableRequest request;
    request.deadline = DeadlineAfter(30);
    request.config = RowTable(kUser);
    CallResult result;
    client_->CreateTable(&request, result.done());
    EXPECT_TRUE(result.Wait().ok()) << result.Wait().message();
    return request;
  }

  Shard shard_;
  std::vector<std::unique_ptr<WorkerService>> services_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<EmbeddingService> client_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CLIENT_WORKERS_FIXTURE_H_
