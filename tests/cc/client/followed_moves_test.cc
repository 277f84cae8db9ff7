// Followers, replicas and exports of shards between which slots move.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/replica_service.h"
#include "tests/cc/client/moving_fixture.h"
#include "tests/cc/service/changes_calls.h"

namespace persia {
namespace {

// Sets, trains and removes rows.
class Changer {
 public:
  explicit Changer(const std::string& address)
      : client_(MakeClient({address})), thread_([this] { Run(); }) {}
  ~Changer() { Stop(); }

  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    std::mt19937_64 random(3);
    for (float value = 1; !stopping_; ++value) {
      std::vector<int64_t> ids;
      for (int i = 0; i < 50; ++i) {
        ids.push_back(static_cast<int64_t>(random() % 4000));
      }
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      if (random() % 3 != 0) {
        AssignRows(client_.get(), kUser, ids, value);
        continue;
      }
      RemoveRequest request;
      request.deadline = DeadlineAfter(60);
      request.table = HashName(kUser);
      request.ids = ids;
      CallResult result;
      client_->Remove(&request, result.done());
      const Status status = result.Wait();
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }

  const std::unique_ptr<EmbeddingService> client_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

Weights InSlots(const SlotSet& slots, const Weights& rows) {
  Weights found;
  for (const auto& row : rows) {
    if (slots[SlotOf(row.first)]) found.insert(row);
  }
  return found;
}

Weights RowsOn(EmbeddingService* service) {
  return ExportRows(service, kUser, 1000);
}

Copy FollowerOf(EmbeddingService* service, uint64_t member) {
  return Copy([service, member](ChangesRequest* request) {
    request->member = member;
    CallResult result;
    service->Changes(request, result.done());
    return result.Wait();
  });
}

std::unique_ptr<EmbeddingService> ConnectTo(const MovingShard& shard) {
  RemoteServiceOptions options;
  options.finds_cluster = false;
  return MakeClient({shard.address()}, options);
}

std::unique_ptr<ReplicaService> ReplicaOf(const MovingShard& shard) {
  ReplicaOptions options;
  options.source = shard.address();
  options.pause_seconds = 0.001;
  options.max_rows = 200;
  auto replica = ReplicaService::Start(ConnectTo(shard), options);
  EXPECT_TRUE(replica.ok()) << replica.status().message();
  return std::move(*replica);
}

// Moves slots from shard to shard, in a circle.
void MoveAround(MovingCluster* cluster, int times) {
  std::mt19937 random(11);
  for (int i = 0; i < times; ++i) {
    const size_t from = random() % 3;
    const SlotSet slots =
        FirstSlots(cluster->SlotsOf(from), 500 + random() % 3000);
    if (slots.none()) continue;
    const MoveProgress progress = cluster->Move(slots, from, (from + 1) % 3);
    EXPECT_TRUE(progress.outcome.ok()) << progress.outcome.message();
    const SharedTopology newest =
        cluster->shard((from + 1) % 3).service()->CurrentTopology();
    for (size_t j = 0; j < 3; ++j) {
      ExchangeWith(cluster->shard(j).service(), newest.get());
    }
  }
}

TEST(FollowedMovesTest, FollowersHaveTheRowsOfTheirShardsInTheEnd) {
  MovingCluster cluster(3, 2, /*durable=*/false);
  AssignRows(cluster.client(), kUser, FirstIds(3000), 5.0f);
  std::vector<Copy> copies;
  for (size_t i = 0; i < 3; ++i) {
    copies.push_back(FollowerOf(cluster.client(), cluster.member(i)));
  }
  std::atomic<bool> ends{false};
  std::thread poller([&] {
    std::mt19937 random(2);
    while (!ends) {
      for (Copy& copy : copies) {
        const Status polled = copy.Poll(1 + random() % 500, random() % 5 == 0);
        EXPECT_TRUE(polled.ok()) << polled.message();
      }
    }
  });
  Changer changer(cluster.shard(0).address());
  MoveAround(&cluster, 12);
  changer.Stop();
  ends = true;
  poller.join();
  for (size_t i = 0; i < 3; ++i) {
    copies[i].CatchUp();
    const SlotSet slots = cluster.SlotsOf(i);
    EXPECT_EQ(InSlots(slots, copies[i][kUser]),
              RowsOn(cluster.shard(i).service()));
    EXPECT_EQ(SlotsIn(copies[i].held), slots);
  }
}

Status LookUpOn(ReplicaService* replica, const std::vector<int64_t>& ids,
                std::vector<float>* rows) {
  rows->resize(ids.size() * kRowDim);
  LookupRequest request;
  request.deadline = DeadlineAfter(60);
  request.read_only = true;
  TableLookup& table = request.tables.emplace_back();
  table.ids.table = HashName(kUser);
  table.ids.dim = kRowDim;
  table.ids.ids = ids;
  table.rows = *rows;
  CallResult result;
  replica->Lookup(&request, result.done());
  return result.Wait();
}

// Looks up `ids`, which are rows of the shard, on a replica of it.
void ExpectRowsAreServed(ReplicaService* replica, EmbeddingService* shard,
                         const std::vector<int64_t>& ids) {
  std::vector<float> rows;
  const Status status = LookUpOn(replica, ids, &rows);
  ASSERT_TRUE(status.ok()) << status.message();
  const Weights expected = RowsOn(shard);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto row = expected.find(ids[i]);
    if (row == expected.end()) continue;
    EXPECT_EQ(Floats(rows.begin() + static_cast<ptrdiff_t>(i * kRowDim),
                     rows.begin() + static_cast<ptrdiff_t>((i + 1) * kRowDim)),
              row->second);
  }
}

Status LookUpOne(ReplicaService* replica, int64_t id) {
  std::vector<float> row;
  const Status status = LookUpOn(replica, {id}, &row);
  // As AssignRows has set it.
  if (status.ok()) {
    EXPECT_EQ(row[0], static_cast<float>(id) + 5.0f);
  }
  return status;
}

template <typename Condition>
void WaitFor(const char* what, const Condition& condition) {
  const Deadline deadline = DeadlineAfter(60);
  while (!condition()) {
    ASSERT_LT(Clock::now(), deadline) << what;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(FollowedMovesTest, ReplicasHaveTheRowsOfTheirShardsInTheEnd) {
  MovingCluster cluster(3, 2, /*durable=*/false);
  AssignRows(cluster.client(), kUser, FirstIds(3000), 5.0f);
  std::vector<std::unique_ptr<ReplicaService>> replicas;
  std::vector<Copy> copies;  // Of the replicas.
  for (size_t i = 0; i < 3; ++i) {
    replicas.push_back(ReplicaOf(cluster.shard(i)));
    copies.push_back(FollowerOf(replicas[i].get(), 0));
    WaitFor("a replica is ready", [&] { return replicas[i]->ready(); });
  }
  std::atomic<bool> ends{false};
  std::thread poller([&] {
    while (!ends) {
      for (Copy& copy : copies) {
        const Status polled = copy.Poll(300);
        EXPECT_TRUE(polled.ok()) << polled.message();
      }
    }
  });
  {
    Changer changer(cluster.shard(0).address());
    MoveAround(&cluster, 8);
  }
  ends = true;
  poller.join();
  for (size_t i = 0; i < 3; ++i) {
    const Weights expected = RowsOn(cluster.shard(i).service());
    WaitFor("a replica has its shard's rows",
            [&] { return RowsOn(replicas[i].get()) == expected; });
    std::vector<int64_t> ids;
    for (const auto& [id, row] : expected) ids.push_back(id);
    ExpectRowsAreServed(replicas[i].get(), cluster.shard(i).service(), ids);
    copies[i].CatchUp();
    const Weights held = InSlots(cluster.SlotsOf(i), copies[i][kUser]);
    EXPECT_EQ(held.size(), expected.size());
    size_t wrong = 0;
    for (const auto& [id, row] : expected) {
      const auto found = held.find(id);
      if (found != held.end() && found->second == row) continue;
      if (++wrong > 5) continue;
      ADD_FAILURE() << "row " << id << " of slot " << SlotOf(id) << " is "
                    << (found == held.end() ? "missing"
                                            : Concat(found->second[0]))
                    << " instead of " << row[0];
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(FollowedMovesTest, AReplicaNeverAnswersForSlotsThatItHasNotGotWhole) {
  MovingCluster cluster(3, 2, /*durable=*/false);
  const std::vector<int64_t> ids = FirstIds(3000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto replica = ReplicaOf(cluster.shard(0));
  WaitFor("it is ready", [&] { return replica->ready(); });
  std::atomic<bool> ends{false};
  std::atomic<int> answered{0};
  std::thread asker([&] {
    for (size_t i = 0; !ends; ++i) {
      const Status status = LookUpOne(replica.get(), ids[i % ids.size()]);
      if (status.ok()) {
        ++answered;
      } else {
        EXPECT_EQ(status.code(), Code::kFailedPrecondition);
      }
    }
  });
  for (int i = 0; i < 4; ++i) {
    const SlotSet slots = FirstSlots(cluster.SlotsOf(0), 3000);
    EXPECT_TRUE(cluster.Move(slots, 0, 2).outcome.ok());
    EXPECT_TRUE(cluster.Move(slots, 2, 0).outcome.ok());
  }
  ends = true;
  asker.join();
  EXPECT_GT(answered, 0);
}

TEST(FollowedMovesTest, AShardThatIsAskedForAnotherRefuses) {
  MovingCluster cluster(2, 2, /*durable=*/false);
  Copy copy = FollowerOf(cluster.shard(0).service(), cluster.member(1));
  EXPECT_EQ(copy.Poll().code(), Code::kNotFound);
  // A client finds the shard, whatever its number is.
  Copy found = FollowerOf(cluster.client(), cluster.member(1));
  EXPECT_TRUE(found.Poll().ok());
  EXPECT_EQ(SlotsIn(found.held), cluster.SlotsOf(1));
}

struct Exported {
  Status status;
  size_t rows = 0;
};

// Exports all rows; calls `meanwhile` after some of them.
template <typename Meanwhile>
Exported Export(EmbeddingService* client, size_t after,
                const Meanwhile& meanwhile) {
  Exported exported;
  ExportRequest page;
  page.table = HashName(kUser);
  page.max_rows = 100;
  bool moved = false;
  while (!page.cursor.at_end()) {
    page.deadline = DeadlineAfter(60);
    CallResult result;
    client->Export(&page, result.done());
    exported.status = result.Wait();
    if (!exported.status.ok()) return exported;
    exported.rows += page.page.ids.size();
    if (!moved && exported.rows >= after) {
      meanwhile();
      moved = true;
    }
  }
  return exported;
}

TEST(FollowedMovesTest, AnExportDuringWhichSlotsMoveFails) {
  for (const auto& [from, to] :
       std::vector<std::pair<size_t, size_t>>{{0, 1}, {1, 0}, {1, 2}, {0, 2}}) {
    MovingCluster cluster(3, 3, /*durable=*/false);
    AssignRows(cluster.client(), kUser, FirstIds(3000), 5.0f);
    const Exported interrupted =
        Export(cluster.client(), 1500, [&, from = from, to = to] {
          EXPECT_TRUE(
              cluster.Move(FirstSlots(cluster.SlotsOf(from), 1000), from, to)
                  .outcome.ok());
        });
    EXPECT_TRUE(interrupted.status.ok()
                    ? interrupted.rows == 3000
                    : interrupted.status.code() == Code::kFailedPrecondition)
        << from << " to " << to << ": " << interrupted.rows << " rows, "
        << interrupted.status.message();
    const Exported again = Export(cluster.client(), 0, [] {});
    EXPECT_TRUE(again.status.ok()) << again.status.message();
    EXPECT_EQ(again.rows, 3000u);
  }
}

TEST(FollowedMovesTest, AnExportOfAShardThatGotSlotsSaysSo) {
  MovingCluster cluster(2, 2, /*durable=*/false);
  AssignRows(cluster.client(), kUser, FirstIds(3000), 5.0f);
  const Exported exported = Export(cluster.client(), 100, [&] {
    EXPECT_TRUE(
        cluster.Move(FirstSlots(cluster.SlotsOf(0), 1000), 0, 1).outcome.ok());
  });
  EXPECT_EQ(exported.status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(exported.status.message(),
            "slots moved to another shard during the export: export again");
}

}  // namespace
}  // namespace persia
