// Tables are opened on all shards together, and a shard that lost its part of a
// table no longer counts as a shard of the table.

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cc/service/forwarding_service.h"
#include "cc/service/worker_service.h"
#include "cc/shard/local_service.h"
#include "tests/cc/client/shards_fixture.h"

namespace persia {
namespace {

// A store that can be told to delay its next request about a table.
class WaitingService : public ForwardingService {
 public:
  explicit WaitingService(const LocalServiceOptions& options)
      : ForwardingService(std::move(*OpenLocalService(options))) {}

  // Delays the next request about a table until GoOn.
  void HoldNext() {
    std::lock_guard<std::mutex> lock(mutex_);
    hold_next_ = true;
  }

  void WaitUntilItCame() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return held_ != nullptr; });
  }

  void WaitUntilAsked(int times) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return asked_ >= times; });
  }

  void GoOn() { std::exchange(held_, nullptr)(); }

  int asked() {
    std::lock_guard<std::mutex> lock(mutex_);
    return asked_;
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++asked_;
      if (std::exchange(hold_next_, false)) {
        held_ = [this, request, done] { inner()->CreateTable(request, done); };
        changed_.notify_all();
        return;
      }
    }
    inner()->CreateTable(request, std::move(done));
    std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_next_ = false;      // Guarded by mutex_.
  int asked_ = 0;               // Guarded by mutex_.
  std::function<void()> held_;  // Guarded by mutex_ until it came.
};

// A shard that can be started again without its rows and tables.
class Store {
 public:
  explicit Store(const LocalServiceOptions& options = {}) { Start(0, options); }

  void RestartEmpty() {
    const uint16_t port = server_->port();
    server_ = nullptr;
    Start(port, {});
  }

  WaitingService& service() { return *service_; }
  std::string address() const { return LocalHost(server_->port()); }

  std::vector<TableStats> tables() {
    return StatsOf(service_.get()).at(0).tables;
  }

 private:
  void Start(uint16_t port, const LocalServiceOptions& local) {
    service_ = std::make_unique<WaitingService>(local);
    ServerOptions options;
    options.port = port;
    auto server = StartServer(service_.get(), options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }

  std::unique_ptr<WaitingService> service_;
  std::unique_ptr<Server> server_;
};

// Shards, and a client of them.
struct Stores {
  explicit Stores(size_t count) : stores(count), client(Client()) {}

  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (const Store& store : stores) all.push_back(store.address());
    return all;
  }

  std::unique_ptr<EmbeddingService> Client() const {
    return MakeClient(addresses());
  }

  std::vector<Store> stores;
  std::unique_ptr<EmbeddingService> client;
};

// One request about a table.
struct Opening {
  Opening(EmbeddingService* service, const std::string& name,
          OpeningStep step = OpeningStep::kOpen, uint64_t identity = 0) {
    request.deadline = DeadlineAfter(60);
    request.config = RowTable(name);
    request.step = step;
    request.identity = identity;
    service->CreateTable(&request, result.done());
  }

  Status Wait() { return result.Wait(); }

  CreateTableRequest request;
  CallResult result;
};

// Does `step` on one shard alone, and returns its answer.
CreateTableRequest PartOf(Store& store, const std::string& name,
                          OpeningStep step = OpeningStep::kFind,
                          uint64_t identity = 0) {
  CreateTableRequest request;
  request.config = RowTable(name);
  request.step = step;
  request.identity = identity;
  CallResult result;
  store.service().CreateTable(&request, result.done());
  EXPECT_TRUE(result.Wait().ok()) << result.Wait().message();
  return request;
}

// The identity of a table that is complete on all of the stores.
uint64_t IdentityOn(std::vector<Store>& stores, const std::string& name) {
  const auto count = static_cast<uint32_t>(stores.size());
  const uint64_t identity = PartOf(stores[0], name).identity;
  EXPECT_NE(identity, 0u);
  for (uint32_t s = 0; s < count; ++s) {
    const CreateTableRequest part = PartOf(stores[s], name);
    EXPECT_EQ(part.state, TableState::kComplete) << s;
    EXPECT_EQ(part.identity, identity) << s;
  }
  return identity;
}

bool Has(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

class OpenTableTest : public testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Shards, OpenTableTest, testing::Values(1, 2, 5));

TEST_P(OpenTableTest, AllShardsHaveTheTableWithOneIdentity) {
  Stores shards(GetParam());
  Opening made(shards.client.get(), kUser);
  ASSERT_TRUE(made.Wait().ok()) << made.Wait().message();
  EXPECT_EQ(made.request.state, TableState::kComplete);
  EXPECT_EQ(IdentityOn(shards.stores, kUser), made.request.identity);
  const auto other = shards.Client();
  Opening attached(other.get(), kUser);
  ASSERT_TRUE(attached.Wait().ok()) << attached.Wait().message();
  EXPECT_EQ(attached.request.identity, made.request.identity);
}

TEST_P(OpenTableTest, ClientsThatOpenItAtOnceAgree) {
  Stores shards(GetParam());
  constexpr int kThreads = 8, kTables = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto client = shards.Client();
      for (int i = 0; i < kTables; ++i) {
        Opening opening(client.get(), Concat(kUser, i));
        EXPECT_TRUE(opening.Wait().ok()) << opening.Wait().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kTables; ++i) {
    IdentityOn(shards.stores, Concat(kUser, i));
  }
}

TEST(CreateTableTest, AShardThatLostItsPartIsNamedBesideThoseThatHoldIt) {
  Stores shards(3);
  CreateRowTable(shards.client.get(), kUser);
  LookUpRows(shards.client.get(), kUser, FirstIds(90));
  shards.stores[1].RestartEmpty();
  // Neither the client that made the table nor another client can open it.
  const auto other = shards.Client();
  for (EmbeddingService* client : {shards.client.get(), other.get()}) {
    const Status status = Opening(client, kUser).Wait();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    std::string holding;
    for (const size_t s : {size_t{0}, size_t{2}}) {
      holding +=
          Concat("\n    shard ", s, " of 3 (", shards.stores[s].address(),
                 "): ", shards.stores[s].tables().at(0).rows, " rows");
    }
    EXPECT_EQ(
        status.message(),
        Concat("table \"user\" is not whole: some shards lost their part of it"
               "\n  hold it:",
               holding, "\n  lack it:\n    shard 1 of 3 (",
               shards.stores[1].address(),
               ")\nNothing was changed. Do one of these:"
               "\n  - restart the shards that lost it with the recovery "
               "folder that they had"
               "\n  - restore a checkpoint: ptf.checkpoint.restore(path)"
               "\n  - start the table over: drop what is left of it, with "
               "ptf.Table(name).drop() or `persia table drop user`"));
  }
  EXPECT_TRUE(shards.stores[1].tables().empty());
}

TEST(CreateTableTest, ATableThatNobodyHadIsMadeBesideOneThatIsNotWhole) {
  Stores shards(2);
  CreateRowTable(shards.client.get(), kUser);
  shards.stores[0].RestartEmpty();
  CreateRowTable(shards.client.get(), kItem);
  IdentityOn(shards.stores, kItem);
}

TEST(CreateTableTest, ShardsOfSeveralClustersAreToldApart) {
  Stores some(2), others(2);
  CreateRowTable(some.client.get(), kUser);
  CreateRowTable(others.client.get(), kUser);
  const auto mixed =
      MakeClient({some.stores[0].address(), others.stores[1].address()});
  const Status status = Opening(mixed.get(), kUser).Wait();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(
      Has(status, Concat(": ", some.stores[0].address(), " belong to one, and ",
                         others.stores[1].address(), " to another")))
      << status.message();
}

TEST(CreateTableTest, ATableThatIsMadeWhileShardsAnswerIsAttachedTo) {
  Stores shards(2);
  const auto other = shards.Client();
  shards.stores[0].service().HoldNext();
  Opening late(shards.client.get(), kUser);
  shards.stores[0].service().WaitUntilItCame();
  shards.stores[1].service().WaitUntilAsked(1);  // Does not have the table yet.
  Opening quick(other.get(), kUser);
  ASSERT_TRUE(quick.Wait().ok()) << quick.Wait().message();
  shards.stores[0].service().GoOn();
  ASSERT_TRUE(late.Wait().ok()) << late.Wait().message();
  EXPECT_EQ(late.request.identity, quick.request.identity);
}

TEST(CreateTableTest, WhatACrashLeftOfATableIsGoneOnWith) {
  for (const size_t prepared : {1, 2, 3}) {
    Stores shards(3);
    uint64_t identity = 0;
    for (uint32_t s = 0; s < prepared; ++s) {
      identity =
          PartOf(shards.stores[s], kUser, OpeningStep::kPrepare, identity)
              .identity;
    }
    CreateRowTable(shards.client.get(), kUser);
    EXPECT_EQ(IdentityOn(shards.stores, kUser), identity) << prepared;
  }
}

TEST(CreateTableTest, WhatTwoCrashesLeftOfATableBecomesOne) {
  Stores shards(2);
  PartOf(shards.stores[0], kUser, OpeningStep::kPrepare, 5);
  PartOf(shards.stores[1], kUser, OpeningStep::kPrepare, 6);
  CreateRowTable(shards.client.get(), kUser);
  EXPECT_EQ(IdentityOn(shards.stores, kUser), 5u);
}

TEST(CreateTableTest, ATableThatIsCompleteOnAShardIsCompletedOnTheOthers) {
  Stores shards(3);
  for (uint32_t s = 0; s < 3; ++s) {
    PartOf(shards.stores[s], kUser, OpeningStep::kPrepare, 5);
  }
  PartOf(shards.stores[1], kUser, OpeningStep::kComplete, 5);
  CreateRowTable(shards.client.get(), kUser);
  EXPECT_EQ(IdentityOn(shards.stores, kUser), 5u);
}

TEST(CreateTableTest, AShardThatLosesWhatItPreparedFailsTheOpening) {
  Stores shards(2);
  EmbeddingService* const client = shards.client.get();
  Opening prepared(client, kUser, OpeningStep::kPrepare);
  ASSERT_TRUE(prepared.Wait().ok()) << prepared.Wait().message();
  shards.stores[1].RestartEmpty();
  const Status status =
      Opening(client, kUser, OpeningStep::kComplete, prepared.request.identity)
          .Wait();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Has(status, Concat("shard 1 of 2 (", shards.stores[1].address(),
                                 "): table \"user\" changed while it was")))
      << status.message();
}

TEST(CreateTableTest, AShardWithoutRoomFailsBeforeAnyHasTheTable) {
  LocalServiceOptions small;
  small.limits.tables = 1;
  Store roomy;
  Store full(small);
  const auto client = MakeClient({roomy.address(), full.address()});
  CreateRowTable(client.get(), kUser);
  EXPECT_EQ(Opening(client.get(), kItem).Wait().code(),
            Code::kResourceExhausted);
  EXPECT_EQ(roomy.tables().size(), 1u);
}

TEST(CreateTableTest, ToFindATableMakesNothing) {
  Stores shards(2);
  Opening absent(shards.client.get(), kUser, OpeningStep::kFind);
  ASSERT_TRUE(absent.Wait().ok()) << absent.Wait().message();
  EXPECT_EQ(absent.request.state, TableState::kAbsent);
  EXPECT_EQ(absent.request.identity, 0u);
  for (Store& store : shards.stores) EXPECT_TRUE(store.tables().empty());
  CreateRowTable(shards.client.get(), kUser);
  Opening there(shards.client.get(), kUser, OpeningStep::kFind);
  ASSERT_TRUE(there.Wait().ok()) << there.Wait().message();
  EXPECT_EQ(there.request.state, TableState::kComplete);
  EXPECT_EQ(there.request.identity, IdentityOn(shards.stores, kUser));
}

// Embedding workers before shards, and a client of the workers.
struct Workers {
  explicit Workers(Stores* shards, size_t count = 2) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < count; ++i) {
      services.push_back(MakeWorkerService(shards->Client(), 0));
      auto server = StartServer(services[i].get(), ServerOptions());
      EXPECT_TRUE(server.ok()) << server.status().message();
      addresses.push_back(LocalHost((*server)->port()));
      servers.push_back(std::move(*server));
    }
    client = MakeClient(addresses);
  }

  std::vector<std::unique_ptr<EmbeddingService>> services;
  std::vector<std::unique_ptr<Server>> servers;
  std::unique_ptr<EmbeddingService> client;
};

TEST(CreateTableTest, WorkersOpenATableOnAllOfTheirShards) {
  Stores shards(3);
  Workers workers(&shards);
  Opening made(workers.client.get(), kUser);
  ASSERT_TRUE(made.Wait().ok()) << made.Wait().message();
  EXPECT_TRUE(made.request.takes_bags);
  EXPECT_EQ(IdentityOn(shards.stores, kUser), made.request.identity);
  Opening beside(shards.client.get(), kUser);
  EXPECT_TRUE(beside.Wait().ok()) << beside.Wait().message();
}

TEST(CreateTableTest, ClientsOfWorkersAndOfShardsThatOpenItAtOnceAgree) {
  Stores shards(2);
  Workers workers(&shards);
  constexpr int kTables = 10;
  std::vector<std::thread> threads;
  for (EmbeddingService* client :
       {workers.client.get(), shards.client.get(), workers.client.get(),
        workers.services[0].get(), workers.services[1].get()}) {
    threads.emplace_back([client] {
      for (int i = 0; i < kTables; ++i) {
        Opening opening(client, Concat(kUser, i));
        EXPECT_TRUE(opening.Wait().ok()) << opening.Wait().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kTables; ++i) {
    IdentityOn(shards.stores, Concat(kUser, i));
  }
}

TEST(CreateTableTest, AWorkerNamesAShardThatLostItsPart) {
  Stores shards(2);
  Workers workers(&shards);
  CreateRowTable(workers.client.get(), kUser);
  shards.stores[1].RestartEmpty();
  const Status status = Opening(workers.client.get(), kUser).Wait();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Has(status, Concat("lack it:\n    shard 1 of 2 (",
                                 shards.stores[1].address(), ")")))
      << status.message();
  EXPECT_TRUE(shards.stores[1].tables().empty());
}

}  // namespace
}  // namespace persia
