// Shards that take slots over from each other, and that can be killed.

#ifndef PERSIA_TESTS_CC_CLIENT_MOVING_FIXTURE_H_
#define PERSIA_TESTS_CC_CLIENT_MOVING_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/files/temporary_folder.h"

namespace persia {

class MovingShard {
 public:
  // Wraps the connection to a shard that slots are taken over from.
  using Wrap = std::function<std::unique_ptr<EmbeddingService>(
      std::unique_ptr<EmbeddingService>)>;

  // With a recovery folder, unless `folder` is "".
  explicit MovingShard(std::string folder = "", Wrap wrap = nullptr)
      : folder_(std::move(folder)), wrap_(std::move(wrap)) {
    Start();
  }
  ~MovingShard() { Stop(); }
  MovingShard(const MovingShard&) = delete;
  MovingShard& operator=(const MovingShard&) = delete;

  // Ends the shard at any moment of its work, as kill -9 would: what it
  // acknowledged is in the recovery folder, and whatever its threads do after
  // that reaches nobody.
  void Stop() {
    server_ = nullptr;
    service_ = nullptr;
  }

  void Start() {
    LocalServiceOptions options;
    options.recovery.journal.folder = folder_;
    options.recovery.journal.sync = SyncMode::kSystem;
    options.connect = [this](const std::string& address) {
      RemoteServiceOptions remote;
      remote.finds_cluster = false;
      auto service = MakeRemoteService({address}, remote);
      if (service.ok() && wrap_ != nullptr) {
        service = {wrap_(std::move(*service))};
      }
      return service;
    };
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    ServerOptions server_options;
    server_options.port = port_;
    auto server = StartServer(service_.get(), server_options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    port_ = server_->port();
  }

  // Ends the shard as it is now: whatever it does meanwhile is undone. It must
  // own no slots, or acknowledge nothing meanwhile. `meanwhile` is called when
  // the state is fixed.
  void Kill(const std::function<void()>& meanwhile) {
    namespace fs = std::filesystem;
    const fs::path folder = folder_;
    const fs::path copy = folder_ + "-killed";
    fs::copy(folder, copy, fs::copy_options::recursive);
    meanwhile();
    Stop();
    fs::remove_all(folder);
    fs::rename(copy, folder);
  }

  EmbeddingService* service() { return service_.get(); }
  std::string address() const { return LocalHost(port_); }

 private:
  const std::string folder_;
  const Wrap wrap_;
  uint16_t port_ = 0;
  std::unique_ptr<EmbeddingService> service_;
  std::unique_ptr<Server> server_;
};

inline TopologyRequest ExchangeWith(EmbeddingService* shard,
                                    const Topology* told) {
  TopologyRequest request;
  request.deadline = DeadlineAfter(30);
  if (told != nullptr) request.told = told->Encode();
  CallResult result;
  shard->ExchangeTopology(&request, result.done());
  EXPECT_TRUE(result.Wait().ok()) << result.Wait().message();
  return request;
}

// Shards with the table "user", of which the first `founders` found a cluster
// that the others join.
class MovingCluster {
 public:
  MovingCluster(size_t shards, size_t founders, bool durable,
                const MovingShard::Wrap& wrap = nullptr) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < shards; ++i) {
      shards_.push_back(std::make_unique<MovingShard>(
          durable ? folder_ / Concat("shard-", i) : std::string(), wrap));
      if (i < founders) addresses.push_back(shards_.back()->address());
    }
    client_ = MakeClient(addresses);
    CreateRowTable(client(), kUser);
    for (size_t i = founders; i < shards; ++i) Join(i);
  }

  EmbeddingService* client() { return client_.get(); }
  MovingShard& shard(size_t i) { return *shards_[i]; }

  // The shard's id.
  uint64_t member(size_t i) {
    return ExchangeWith(shards_[i]->service(), nullptr).member;
  }

  // Has the taker begin to take these slots over.
  Status StartMove(const SlotSet& slots, size_t source, size_t taker) {
    MoveRequest request;
    request.action = MoveAction::kStart;
    request.source = member(source);
    request.address = shards_[source]->address();
    request.slots = slots;
    return Do(taker, &request);
  }

  MoveProgress AwaitMove(size_t taker) {
    for (;;) {
      MoveRequest request;
      EXPECT_TRUE(Do(taker, &request).ok());
      if (request.progress.state != MoveState::kRunning) {
        return request.progress;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  MoveProgress Move(const SlotSet& slots, size_t source, size_t taker) {
    const Status started = StartMove(slots, source, taker);
    EXPECT_TRUE(started.ok()) << started.message();
    return AwaitMove(taker);
  }

  Status Do(size_t shard, MoveRequest* request) {
    request->deadline = DeadlineAfter(30);
    CallResult result;
    shards_[shard]->service()->Move(request, result.done());
    return result.Wait();
  }

  SlotSet SlotsOf(size_t i) {
    const SharedTopology topology = shards_[i]->service()->CurrentTopology();
    return topology->SlotsOf(member(i));
  }

 private:
  void Join(size_t i) {
    const SharedTopology topology = shards_[0]->service()->CurrentTopology();
    const Topology after = topology->WithMember(
        {member(i), static_cast<uint32_t>(i), 1, false, shards_[i]->address()});
    for (const auto& shard : shards_) ExchangeWith(shard->service(), &after);
  }

  TemporaryFolder folder_;
  std::vector<std::unique_ptr<MovingShard>> shards_;
  std::unique_ptr<EmbeddingService> client_;
};

// The first `count` slots of a set.
inline SlotSet FirstSlots(const SlotSet& slots, size_t count) {
  SlotSet first;
  for (uint32_t slot = 0; slot < kSlots && first.count() < count; ++slot) {
    if (slots[slot]) first.set(slot);
  }
  return first;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CLIENT_MOVING_FIXTURE_H_
