// Replicas of a source in this process that can be made unreachable.

#include "cc/shard/replica_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/service/forwarding_service.h"
#include "cc/shard/local_service.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/replica_source.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

class Link : public ForwardingService {
 public:
  explicit Link(ReplicaSource* source)
      : ForwardingService(nullptr), source_(source) {}

  void Changes(ChangesRequest* request, DoneCallback done) override {
    source_->Changes(request, std::move(done));
  }

 private:
  ReplicaSource* const source_;
};

// Asks another replica.
class ReplicaLink : public ForwardingService {
 public:
  explicit ReplicaLink(EmbeddingService* replica)
      : ForwardingService(nullptr), replica_(replica) {}

  void Changes(ChangesRequest* request, DoneCallback done) override {
    replica_->Changes(request, std::move(done));
  }

 private:
  EmbeddingService* const replica_;
};

// Answers nothing until its destructor runs.
class SilentLink : public ForwardingService {
 public:
  // `waiting` counts the requests that wait for their answers.
  explicit SilentLink(std::atomic<int>* waiting)
      : ForwardingService(nullptr), waiting_(waiting) {}
  ~SilentLink() override {
    if (done_ == nullptr) return;
    --*waiting_;
    done_(Status(Code::kCancelled, "it ends"));
  }

  void Changes(ChangesRequest*, DoneCallback done) override {
    done_ = std::move(done);
    ++*waiting_;
  }

 private:
  std::atomic<int>* const waiting_;
  DoneCallback done_;
};

template <typename Condition>
void WaitFor(const char* what, const Condition& condition) {
  const Deadline deadline = DeadlineAfter(60);
  while (!condition()) {
    ASSERT_LT(Clock::now(), deadline) << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class ReplicaServiceTest : public ::testing::Test {
 protected:
  ReplicaServiceTest() { Make("t"); }

  static std::unique_ptr<ReplicaService> StartOf(
      std::unique_ptr<EmbeddingService> link, double goodbye_seconds = 60) {
    ReplicaOptions options;
    options.source = "h:1";
    options.pause_seconds = 0.001;
    options.first_backoff_seconds = 0.001;
    options.max_backoff_seconds = 0.004;
    options.goodbye_seconds = goodbye_seconds;
    options.max_rows = 300;
    auto replica = ReplicaService::Start(std::move(link), options);
    EXPECT_TRUE(replica.ok()) << replica.status().message();
    return std::move(*replica);
  }

  void Make(const std::string& name, const std::string& dtype = "float32",
            const std::string& optimizer = "adagrad") {
    TableConfig config = MakeConfig(name, kDim, "uniform", optimizer.c_str());
    config.row_dtype = SpecOf(dtype);
    EXPECT_TRUE(Create(source_.service(), config).ok());
  }

  void TrainOn(const std::string& table, const Ids& ids) {
    Train(source_.service(), table, ids);
    EXPECT_TRUE(Step(source_.service(), table, ids,
                     Floats(ids.size() * kDim, 1.0f), /*client=*/0, 0)
                    .ok());
  }

  Status Drop(EmbeddingService* service, const Ids& ids) {
    RemoveRequest request;
    request.table = HashName("t");
    request.ids = ids;
    return Call(service, &EmbeddingService::Remove, &request);
  }

  void EndTable(const std::string& table, bool stays) {
    DropTableRequest request;
    request.deadline = DeadlineAfter(60);
    request.table = HashName(table);
    request.stays = stays;
    request.drop_id = ++drops_;
    const Status status =
        Call(source_.service(), &EmbeddingService::DropTable, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  static bool Has(EmbeddingService* service, const std::string& name) {
    StatsRequest request;
    EXPECT_TRUE(Call(service, &EmbeddingService::Stats, &request).ok());
    for (const TableStats& table : request.processes.at(0).tables) {
      if (table.name == name) return true;
    }
    return false;
  }

  static std::map<int64_t, Floats> WeightsIn(EmbeddingService* service,
                                             const std::string& table) {
    std::map<int64_t, Floats> weights;
    if (!Has(service, table)) return weights;
    for (const auto& [id, row] : RowsOf(service, table)) {
      weights[id] = row.weights;
    }
    return weights;
  }

  // Waits until the replica has the rows of its source.
  void WaitForRows(EmbeddingService* replica, const std::string& table = "t") {
    const auto rows = WeightsIn(source_.service(), table);
    WaitFor("the replica to have its source's rows",
            [&] { return WeightsIn(replica, table) == rows; });
  }

  ReplicaSource source_;
  uint64_t drops_ = 0;
};

TEST_F(ReplicaServiceTest, FollowsItsSource) {
  TrainOn("t", Range(0, 1000));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitFor("all rows", [&] { return replica->ready(); });
  WaitForRows(replica.get());
  TrainOn("t", Range(900, 1100));
  EXPECT_TRUE(Drop(source_.service(), Range(0, 50)).ok());
  Make("late");
  TrainOn("late", {1, 2, 3});
  WaitForRows(replica.get());
  WaitForRows(replica.get(), "late");
}

TEST_F(ReplicaServiceTest, HasRowsOfEveryDtypeBitForBit) {
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  for (const char* dtype : {"float16", "bfloat16", "int8"}) {
    Make(dtype, dtype);
    TrainOn(dtype, Range(0, 500));
    WaitForRows(replica.get(), dtype);
  }
}

TEST_F(ReplicaServiceTest, AnswersLookupsThatReadAlone) {
  TrainOn("t", {1, 2});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  const Ids ids = {2, 1, 77};
  for (EmbeddingService* service :
       {source_.service(), static_cast<EmbeddingService*>(replica.get())}) {
    Floats rows(ids.size() * kDim, -1.0f);
    LookupRequest request;
    request.read_only = true;
    request.tables = {{IdsOf("t", ids), rows}};
    ASSERT_TRUE(Call(service, &EmbeddingService::Lookup, &request).ok());
    EXPECT_EQ(Floats(rows.begin() + kDim, rows.begin() + 2 * kDim),
              WeightsIn(source_.service(), "t").at(1));
    EXPECT_EQ(rows.back(), 0.0f);
  }
  EXPECT_EQ(WeightsIn(replica.get(), "t").size(), 2u);
}

TEST_F(ReplicaServiceTest, RefusesIdsOfOtherShards) {
  TopologyRequest request;
  EXPECT_TRUE(
      Call(source_.service(), &EmbeddingService::ExchangeTopology, &request)
          .ok());
  request.told = Topology::Found(1, {{request.member, 0, 1, false, "a:1"},
                                     {request.member ^ 1, 1, 1, false, "b:1"}})
                     ->Encode();
  EXPECT_TRUE(
      Call(source_.service(), &EmbeddingService::ExchangeTopology, &request)
          .ok());
  int64_t own = 0, other = 0;
  while (SlotOf(own) >= kSlots / 2) ++own;
  while (SlotOf(other) < kSlots / 2) ++other;
  TrainOn("t", {own});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitFor("all rows", [&] { return replica->ready(); });
  WaitForRows(replica.get());
  CreateTableRequest create;
  create.config = MakeConfig("t", kDim, "uniform", "adagrad");
  ASSERT_TRUE(
      Call(replica.get(), &EmbeddingService::CreateTable, &create).ok());
  EXPECT_FALSE(create.takes_bags);
  Floats rows(kDim);
  LookupRequest lookup;
  lookup.read_only = true;
  const Ids owns = {own}, others = {other};
  lookup.tables = {{IdsOf("t", owns), rows}};
  EXPECT_TRUE(Call(replica.get(), &EmbeddingService::Lookup, &lookup).ok());
  lookup.tables = {{IdsOf("t", others), rows}};
  const Status status = Call(replica.get(), &EmbeddingService::Lookup, &lookup);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            Concat("this is a replica of h:1, which does not have the rows of "
                   "slot ",
                   SlotOf(other),
                   ": list one replica of each shard, in the shards' order"));
  ChangesRequest changes;
  changes.position.follower = 9;
  changes.max_rows = 10;
  ASSERT_TRUE(Call(replica.get(), &EmbeddingService::Changes, &changes).ok());
  EXPECT_EQ(SlotsIn(changes.held).count(), kSlots / 2);
}

TEST_F(ReplicaServiceTest, RefusesWhateverWrites) {
  TrainOn("t", {1, 2});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  const Ids ids = {1};
  Floats rows(kDim);
  LookupRequest lookup;
  lookup.tables = {{IdsOf("t", ids), rows}};
  AssignRequest assign;
  CheckpointRequest checkpoint;
  DropTableRequest drop;
  for (const Status& status :
       {Call(replica.get(), &EmbeddingService::Lookup, &lookup),
        Step(replica.get(), "t", ids, rows, /*client=*/0, 0),
        Call(replica.get(), &EmbeddingService::Assign, &assign),
        Drop(replica.get(), ids),
        Call(replica.get(), &EmbeddingService::DropTable, &drop),
        Call(replica.get(), &EmbeddingService::Checkpoint, &checkpoint)}) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_NE(status.message().find("replica of h:1"), std::string::npos);
  }
  WaitForRows(replica.get());
}

TEST_F(ReplicaServiceTest, HasTheTablesOfItsSourceAlone) {
  TrainOn("t", {1, 2});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  CreateTableRequest same;
  same.config = MakeConfig("t", kDim, "uniform", "adagrad");
  EXPECT_TRUE(Call(replica.get(), &EmbeddingService::CreateTable, &same).ok());
  EXPECT_EQ(same.rows, 2u);
  const Status other =
      Create(replica.get(), MakeConfig("t", kDim, "uniform", "sgd"));
  EXPECT_EQ(other.code(), Code::kAlreadyExists);
  EXPECT_NE(other.message().find("optimizer: adagrad here"), std::string::npos);
  const Status unknown =
      Create(replica.get(), MakeConfig("u", kDim, "uniform", "sgd"));
  EXPECT_EQ(unknown.code(), Code::kFailedPrecondition);
  EXPECT_NE(unknown.message().find("create it on the"), std::string::npos);
}

TEST_F(ReplicaServiceTest, AnswersAndCatchesUpWhenItsSourceIsAway) {
  TrainOn("t", Range(0, 100));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  source_.SetAway(true);
  const int asked = source_.asked();
  WaitFor("it to try again", [&] { return source_.asked() > asked + 5; });
  const auto before = WeightsIn(replica.get(), "t");
  EXPECT_EQ(before.size(), 100u);
  TrainOn("t", Range(50, 150));
  EXPECT_EQ(WeightsIn(replica.get(), "t"), before);
  source_.SetAway(false);
  WaitForRows(replica.get());
}

TEST_F(ReplicaServiceTest, DropsWhatASourceThatWasRestartedLacks) {
  TrainOn("t", Range(0, 2000));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  source_.Restart();
  Make("t");
  TrainOn("t", Range(1500, 2500));
  WaitForRows(replica.get());
}

TEST_F(ReplicaServiceTest, BeginsAnewWhereATableHasOtherSettings) {
  TrainOn("t", Range(0, 1000));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  source_.SetAway(true);
  source_.Restart();
  Make("t", "float16", "sgd");
  TrainOn("t", Range(0, 500));
  source_.SetAway(false);
  WaitForRows(replica.get());
  TableConfig config = MakeConfig("t", kDim, "uniform", "sgd");
  config.row_dtype = SpecOf("float16");
  EXPECT_TRUE(Create(replica.get(), config).ok());
  EXPECT_EQ(source_.followers(), 1u);
}

TEST_F(ReplicaServiceTest, KeepsTablesThatASourceThatWasRestartedLacks) {
  TrainOn("t", Range(0, 100));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  const auto before = WeightsIn(replica.get(), "t");
  source_.Restart();
  Make("other");
  TrainOn("other", {1});
  WaitForRows(replica.get(), "other");
  EXPECT_EQ(WeightsIn(replica.get(), "t"), before);
  Make("t");
  TrainOn("t", {7});
  WaitForRows(replica.get());
}

TEST_F(ReplicaServiceTest, HasNoTableThatItsSourceDropped) {
  Make("u");
  TrainOn("t", Range(0, 100));
  TrainOn("u", {1});
  const auto first = StartOf(std::make_unique<Link>(&source_));
  const auto second = StartOf(std::make_unique<ReplicaLink>(first.get()));
  WaitForRows(second.get());
  WaitForRows(second.get(), "u");
  EndTable("t", /*stays=*/false);
  EndTable("u", /*stays=*/true);
  for (EmbeddingService* replica : {first.get(), second.get()}) {
    WaitFor("the table to go", [&] { return !Has(replica, "t"); });
    WaitForRows(replica, "u");
    Floats row(kDim);
    const Ids ids = {1};
    LookupRequest lookup;
    lookup.read_only = true;
    lookup.tables = {{IdsOf("t", ids), row}};
    const Status status = Call(replica, &EmbeddingService::Lookup, &lookup);
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_NE(status.message().find("\"t\" was dropped"), std::string::npos);
  }
  Make("t", "float16", "sgd");
  TrainOn("t", {5});
  WaitForRows(second.get());
}

TEST_F(ReplicaServiceTest, DropsATableThatWentWhileItWasAway) {
  TrainOn("t", Range(0, 100));
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitForRows(replica.get());
  source_.SetAway(true);
  EndTable("t", /*stays=*/false);
  source_.SetAway(false);
  WaitFor("the table to go", [&] { return !Has(replica.get(), "t"); });
}

TEST_F(ReplicaServiceTest, TellsNoChangesBeforeItHasAllRows) {
  source_.SetAway(true);
  TrainOn("t", {1, 2});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  ChangesRequest request;
  request.position.follower = 5;
  request.max_rows = 10;
  const Status early =
      Call(replica.get(), &EmbeddingService::Changes, &request);
  EXPECT_EQ(early.code(), Code::kUnavailable);
  EXPECT_NE(early.message().find("all rows of h:1"), std::string::npos);
  source_.SetAway(false);
  WaitFor("all rows", [&] { return replica->ready(); });
  ASSERT_TRUE(Call(replica.get(), &EmbeddingService::Changes, &request).ok());
  ASSERT_EQ(request.tables.size(), 1u);
  EXPECT_EQ(request.tables[0].rows.ids.size(), 2u);
}

TEST_F(ReplicaServiceTest, TellsNoChangesWhileItsSourceIsAway) {
  TrainOn("t", {1, 2});
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitFor("all rows", [&] { return replica->ready(); });
  ChangesRequest request;
  request.position.follower = 5;
  request.max_rows = 10;
  const auto ask = [&] {
    return Call(replica.get(), &EmbeddingService::Changes, &request);
  };
  source_.SetAway(true);
  WaitFor("it to notice", [&] { return ask().code() == Code::kUnavailable; });
  EXPECT_NE(ask().message().find("changes of h:1 at present"),
            std::string::npos);
  request.max_rows = 0;
  EXPECT_TRUE(ask().ok());
  request.max_rows = 10;
  source_.SetAway(false);
  WaitFor("it to go on", [&] { return ask().ok(); });
}

TEST_F(ReplicaServiceTest, ReplicasFollowReplicas) {
  TrainOn("t", Range(0, 1000));
  const auto first = StartOf(std::make_unique<Link>(&source_));
  const auto second = StartOf(std::make_unique<ReplicaLink>(first.get()));
  WaitForRows(second.get());
  TrainOn("t", Range(500, 1500));
  EXPECT_TRUE(Drop(source_.service(), Range(0, 100)).ok());
  WaitForRows(second.get());
}

TEST_F(ReplicaServiceTest, TellsWhatItFollowsAndHowFarBehindItIs) {
  source_.SetAway(true);
  const auto replica = StartOf(std::make_unique<Link>(&source_));
  StatsRequest stats;
  ASSERT_TRUE(Call(replica.get(), &EmbeddingService::Stats, &stats).ok());
  EXPECT_EQ(stats.processes.at(0).source, "h:1");
  EXPECT_EQ(stats.processes[0].behind_millis, ServiceStats::kNeverComplete);
  EXPECT_FALSE(replica->ready());
  source_.SetAway(false);
  WaitFor("all rows", [&] { return replica->ready(); });
  ASSERT_TRUE(Call(replica.get(), &EmbeddingService::Stats, &stats).ok());
  EXPECT_LT(stats.processes.at(0).behind_millis, 60000u);
}

TEST_F(ReplicaServiceTest, SaysGoodbyeToItsSource) {
  auto replica = StartOf(std::make_unique<Link>(&source_));
  WaitFor("all rows", [&] { return replica->ready(); });
  EXPECT_EQ(source_.followers(), 1u);
  replica = nullptr;
  EXPECT_EQ(source_.followers(), 0u);
}

TEST_F(ReplicaServiceTest, EndsWhileItsSourceIsSilent) {
  std::atomic<int> waiting{0};
  for (int i = 0; i < 20; ++i) {
    auto replica = StartOf(std::make_unique<SilentLink>(&waiting),
                           /*goodbye_seconds=*/0.001);
    WaitFor("it to ask", [&] { return waiting == 1; });
    EXPECT_FALSE(replica->ready());
    replica = nullptr;
    EXPECT_EQ(waiting, 0);
  }
}

}  // namespace
}  // namespace persia
