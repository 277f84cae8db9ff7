// Standbys of shards, which take the place of shards that are killed.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/service/forwarding_service.h"
#include "cc/shard/ask_standby.h"
#include "cc/shard/standby_service.h"
#include "tests/cc/client/moving_fixture.h"
#include "tests/cc/client/trainer.h"

namespace persia {
namespace {

Result<std::unique_ptr<EmbeddingService>> ConnectTo(
    const std::string& address) {
  RemoteServiceOptions remote;
  remote.finds_cluster = false;
  return MakeRemoteService({address}, remote);
}

// How long a standby that has all rows lets its primary wait for a record, in
// milliseconds, for each of its requests. Thread-safe.
class Waits {
 public:
  void Add(uint32_t milliseconds) {
    std::lock_guard<std::mutex> lock(mutex_);
    waits_.push_back(milliseconds);
    changed_.notify_all();
  }

  std::vector<uint32_t> Await(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waits_.size() >= count; });
    return waits_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint32_t> waits_;
};

// A standby's connection to its primary, which notes the waits.
class NotingLink : public ForwardingService {
 public:
  NotingLink(std::unique_ptr<EmbeddingService> primary, Waits* waits)
      : ForwardingService(std::move(primary)), waits_(waits) {}

  void Standby(StandbyRequest* request, DoneCallback done) override {
    if (request->action == StandbyAction::kRecords && request->is_complete) {
      waits_->Add(request->wait_ms);
    }
    inner()->Standby(request, std::move(done));
  }

 private:
  Waits* const waits_;
};

// A process that is a shard, or a standby of one.
class Process {
 public:
  // `primary` is "" for a shard.
  Process(const std::string& folder, const std::string& primary,
          Acknowledge acknowledge = Acknowledge::kStandby,
          uint64_t least_base_bytes = uint64_t{1} << 30, uint16_t port = 0,
          ConnectToShard connect = ConnectTo)
      : folder_(folder), primary_(primary), port_(port) {
    options_.recovery.journal.folder = folder;
    options_.recovery.journal.sync = SyncMode::kSystem;
    options_.recovery.journal.least_base_bytes = least_base_bytes;
    options_.acknowledge = acknowledge;
    options_.connect = std::move(connect);
    Start();
  }
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Start() {
    if (primary_.empty()) {
      auto service = OpenLocalService(options_);
      ASSERT_TRUE(service.ok()) << service.status().message();
      service_ = std::move(*service);
      AskStandby(service_.get(), ConnectTo, nullptr);
      return StartServing();
    }
    auto service = StandbyService::Open({options_, primary_});
    ASSERT_TRUE(service.ok()) << service.status().message();
    StandbyService* const standby = service->get();
    service_ = std::move(*service);
    StartServing();
    standby->Begin(address());
  }

  // Ends the process at any moment of its work: what it does after the server
  // has ended reaches nobody.
  void Kill() {
    server_ = nullptr;
    service_ = nullptr;
  }

  void RemoveFolder() { std::filesystem::remove_all(folder_); }

  Status Promote(bool primary_is_gone) {
    StandbyRequest request;
    request.deadline = DeadlineAfter(30);
    request.action = StandbyAction::kPromote;
    request.primary_is_gone = primary_is_gone;
    CallResult result;
    service_->Standby(&request, result.done());
    return result.Wait();
  }

  // What the process says of itself as a member of the cluster.
  std::optional<Member> Described() {
    const SharedTopology topology = service_->CurrentTopology();
    if (topology == nullptr) return std::nullopt;
    // A shard that was replaced no longer tells its id.
    const uint64_t id = ExchangeWith(service(), nullptr).member;
    if (id != 0) id_ = id;
    return *topology->Find(id_);
  }

  // Waits until the shard has the process at `address` as its standby.
  void AwaitStandby(const std::string& address) {
    for (;;) {
      const auto described = Described();
      if (described && described->standby == address) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  EmbeddingService* service() { return service_.get(); }
  std::string address() const { return LocalHost(port_); }
  uint16_t port() const { return port_; }
  const std::string& folder() const { return folder_; }

 private:
  void StartServing() {
    ServerOptions server_options;
    server_options.port = port_;
    auto server = StartServer(service_.get(), server_options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    port_ = server_->port();
  }

  const std::string folder_;
  const std::string primary_;
  LocalServiceOptions options_;
  uint16_t port_;
  uint64_t id_ = 0;  // Of the shard.
  std::unique_ptr<EmbeddingService> service_;
  std::unique_ptr<Server> server_;
};

// Two shards with the table "user", of which the first has a standby.
class StandbyTest : public testing::Test {
 protected:
  void Begin(Acknowledge acknowledge,
             uint64_t least_base_bytes = uint64_t{1} << 30) {
    primary_ = std::make_unique<Process>(NextFolder(), "", acknowledge,
                                         least_base_bytes);
    other_ = std::make_unique<Process>(NextFolder(), "");
    client_ = MakeClient({primary_->address(), other_->address()});
    CreateRowTable(client_.get(), kUser);
    AssignRows(client_.get(), kUser, ids_, 5.0f);
    before_ = LookUpRows(client_.get(), kUser, ids_);
    acknowledge_ = acknowledge;
    least_base_bytes_ = least_base_bytes;
  }

  void BeginStandby() {
    standby_ = std::make_unique<Process>(NextFolder(), primary_->address(),
                                         acknowledge_, least_base_bytes_);
    primary_->AwaitStandby(standby_->address());
  }

  std::string NextFolder() { return folder_ / Concat("process-", folders_++); }

  void Train(Trainer* trainer, uint64_t updates) {
    const uint64_t until = trainer->updates() + updates;
    while (trainer->updates() < until && !HasFailure()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // The standby is the primary from now on.
  void UseStandby() { primary_ = std::move(standby_); }

  void ExpectAll(Trainer* trainer) {
    trainer->Stop();
    ExpectValues(client_.get(), ids_, before_, trainer->updates());
    EXPECT_EQ(ExportRows(client_.get(), kUser, 1000).size(), ids_.size());
  }

  TemporaryFolder folder_;
  int folders_ = 0;
  Acknowledge acknowledge_ = Acknowledge::kStandby;
  uint64_t least_base_bytes_ = 0;
  const std::vector<int64_t> ids_ = FirstIds(300);
  std::vector<float> before_;
  std::unique_ptr<Process> primary_;
  std::unique_ptr<Process> standby_;
  std::unique_ptr<Process> other_;
  std::unique_ptr<EmbeddingService> client_;
};

TEST_F(StandbyTest, TakesThePlaceOfAPrimaryWhoseFolderIsLost) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  for (int kill = 0; kill < 5; ++kill) {
    BeginStandby();
    Train(&trainer, 20);
    primary_->Kill();
    primary_->RemoveFolder();
    const Status promoted = standby_->Promote(/*primary_is_gone=*/true);
    ASSERT_TRUE(promoted.ok()) << promoted.message();
    UseStandby();
    Train(&trainer, 20);
  }
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, APrimaryThatIsAliveGivesItsPlaceUp) {
  Begin(Acknowledge::kSelf);
  Trainer trainer({other_->address()}, ids_, 1);
  for (int turn = 0; turn < 5; ++turn) {
    BeginStandby();
    Train(&trainer, 20);
    const Status promoted = standby_->Promote(/*primary_is_gone=*/false);
    ASSERT_TRUE(promoted.ok()) << promoted.message();
    Train(&trainer, 20);
    const SharedTopology topology = primary_->service()->CurrentTopology();
    EXPECT_EQ(topology->Find(primary_->Described()->id)->address,
              standby_->address());
    EXPECT_TRUE(RowsOn(primary_->service()).empty());
    UseStandby();
  }
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, WaitsForRecordsWithoutPolling) {
  Begin(Acknowledge::kSelf);
  Waits waits;
  standby_ = std::make_unique<Process>(
      NextFolder(), primary_->address(), acknowledge_, least_base_bytes_,
      /*port=*/0,
      [&](const std::string& address)
          -> Result<std::unique_ptr<EmbeddingService>> {
        auto primary = ConnectTo(address);
        if (!primary.ok()) return primary.status();
        return std::unique_ptr<EmbeddingService>(
            std::make_unique<NotingLink>(std::move(*primary), &waits));
      });
  for (const uint32_t wait : waits.Await(5)) EXPECT_GT(wait, 0);
  standby_ = nullptr;
}

TEST_F(StandbyTest, BeginsWithABaseAndWritesBases) {
  Begin(Acknowledge::kStandby, /*least_base_bytes=*/1 << 16);
  Trainer trainer({other_->address()}, ids_, 1);
  Train(&trainer, 300);
  for (int kill = 0; kill < 3; ++kill) {
    BeginStandby();
    Train(&trainer, 300);
    primary_->Kill();
    ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
    UseStandby();
    Train(&trainer, 20);
    // What a standby has is also in its folder.
    primary_->Kill();
    primary_->Start();
    Train(&trainer, 20);
  }
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, AStandbyThatIsStartedAgainGoesOn) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  BeginStandby();
  for (int kill = 0; kill < 3; ++kill) {
    Train(&trainer, 20);
    standby_->Kill();
    standby_->Start();
    Train(&trainer, 20);
    primary_->Kill();
    primary_->Start();
  }
  Train(&trainer, 20);
  primary_->Kill();
  standby_->Kill();
  standby_->Start();
  ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
  Train(&trainer, 20);
  UseStandby();
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, APrimaryThatComesBackOwnsNothing) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  BeginStandby();
  Train(&trainer, 20);
  primary_->Kill();
  ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
  primary_->Start();
  Train(&trainer, 20);
  const auto described = primary_->Described();
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->incarnation, 1u);
  EXPECT_EQ(described->address, standby_->address());
  EXPECT_TRUE(RowsOn(primary_->service()).empty());
  // It is no primary of a standby either.
  const Process second(NextFolder(), primary_->address());
  Train(&trainer, 20);
  EXPECT_EQ(primary_->Described()->standby, "");
  ExpectAll(&trainer);
}

// The process that was replaced becomes the standby, at its former address.
// Else clients that ask it would not find the standby.
TEST_F(StandbyTest, AShardThatWasDownHearsOfAPromotionLater) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  BeginStandby();
  Train(&trainer, 20);
  const uint64_t member = primary_->Described()->id;
  other_->Kill();
  primary_->Kill();
  ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
  other_->Start();
  const Deadline give_up = DeadlineAfter(60);
  const auto knows = [&] {
    const SharedTopology topology = other_->service()->CurrentTopology();
    return topology->Find(member)->address == standby_->address();
  };
  while (!knows() && Clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(knows());
  Train(&trainer, 20);
  UseStandby();
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, AFormerPrimaryTakesItsPlaceBackOnlyIfAsked) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  BeginStandby();
  Train(&trainer, 20);
  const std::string former = primary_->address();
  const uint16_t port = primary_->port();
  primary_->Kill();
  ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
  UseStandby();
  standby_ = std::make_unique<Process>(NextFolder(), primary_->address(),
                                       acknowledge_, least_base_bytes_, port);
  ASSERT_EQ(standby_->address(), former);
  primary_->AwaitStandby(former);
  Train(&trainer, 20);
  EXPECT_EQ(primary_->Described()->incarnation, 1u);
  EXPECT_EQ(standby_->service()->CurrentTopology(), nullptr);
  primary_->Kill();
  ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/true).ok());
  UseStandby();
  Train(&trainer, 20);
  EXPECT_EQ(primary_->Described()->incarnation, 2u);
  ExpectAll(&trainer);
}

// A new program that lists the address of a process that was replaced must not
// train there.
TEST_F(StandbyTest, NewClientsOfAReplacedShardReachTheOneThatTookItsPlace) {
  Begin(Acknowledge::kStandby);
  BeginStandby();
  uint64_t updates = 0;
  for (uint64_t number : {1, 2}) {
    Trainer trainer({primary_->address()}, ids_, number);
    Train(&trainer, 20);
    trainer.Stop();
    updates += trainer.updates();
    if (number == 1) {
      ASSERT_TRUE(standby_->Promote(/*primary_is_gone=*/false).ok());
    }
  }
  EXPECT_TRUE(RowsOn(primary_->service()).empty());
  ExpectValues(client_.get(), ids_, before_, updates);
}

// Its machine was lost, and it begins with nothing.
TEST_F(StandbyTest, KeepsItsCopyBesideAPrimaryThatHasLostItsRows) {
  Begin(Acknowledge::kStandby);
  Trainer trainer({other_->address()}, ids_, 1);
  BeginStandby();
  Train(&trainer, 20);
  trainer.Stop();
  primary_->Kill();
  primary_->RemoveFolder();
  primary_->Start();
  // Long enough for the standby to ask it.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Status promoted = standby_->Promote(/*primary_is_gone=*/true);
  ASSERT_TRUE(promoted.ok()) << promoted.message();
  UseStandby();
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, UpdatesWaitForAStandbyThatIsAway) {
  Begin(Acknowledge::kStandby);
  BeginStandby();
  standby_->Kill();
  Trainer trainer({other_->address()}, ids_, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(trainer.updates(), 0u);
  standby_->Start();
  Train(&trainer, 20);
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, IsNotPromotedBeforeItHasAllRows) {
  Begin(Acknowledge::kStandby);
  primary_->Kill();
  Process standby(NextFolder(), primary_->address());
  const Status promoted = standby.Promote(/*primary_is_gone=*/true);
  EXPECT_EQ(promoted.code(), Code::kFailedPrecondition) << promoted.message();
}

TEST_F(StandbyTest, IsNotPromotedBesideAPrimaryThatDoesNotAnswer) {
  Begin(Acknowledge::kStandby);
  BeginStandby();
  Trainer trainer({other_->address()}, ids_, 1);
  Train(&trainer, 1);
  primary_->Kill();
  const Status promoted = standby_->Promote(/*primary_is_gone=*/false);
  EXPECT_FALSE(promoted.ok());
  EXPECT_NE(promoted.message().find("--primary-is-gone"), std::string::npos)
      << promoted.message();
  primary_->Start();
  Train(&trainer, 20);
  ExpectAll(&trainer);
}

TEST_F(StandbyTest, TakesNoFolderOfAShard) {
  Begin(Acknowledge::kStandby);
  primary_->Kill();
  LocalServiceOptions options;
  options.recovery.journal.folder = primary_->folder();
  const auto opened = StandbyService::Open({options, other_->address()});
  EXPECT_EQ(opened.status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace persia
