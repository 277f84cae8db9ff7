// What a shard does with the slots that it owns, and when it gets others.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/checkpoint/shard_file.h"
#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

constexpr uint64_t kOther = 6;

SlotSet SlotsUpTo(uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = 0; slot < end; ++slot) slots.set(slot);
  return slots;
}

Ids InSlots(const SlotSet& slots, const Ids& ids) {
  Ids found;
  for (const int64_t id : ids) {
    if (slots[SlotOf(id)]) found.push_back(id);
  }
  return found;
}

Rows InSlots(const SlotSet& slots, Rows rows) {
  for (auto row = rows.begin(); row != rows.end();) {
    row = slots[SlotOf(row->first)] ? std::next(row) : rows.erase(row);
  }
  return rows;
}

// A shard with a log, and a table "t" that it has before it joins a cluster. No
// rows move with the slots.
class OwnSlotsTest : public ::testing::Test {
 protected:
  OwnSlotsTest() { Restart(); }

  void Restart(RecoveryLevel level = RecoveryLevel::kLog) {
    service_ = nullptr;
    LocalServiceOptions options;
    options.checkpoints.root = folder_ / "checkpoints";
    options.recovery.journal.folder =
        folder_ / ("recovery" + std::to_string(static_cast<int>(level)));
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.level = level;
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    ASSERT_TRUE(Make("t").second.ok());
  }

  std::pair<CreateTableRequest, Status> Make(const std::string& name,
                                             const char* capacity = nullptr) {
    CreateTableRequest request;
    request.config = MakeConfig(name, kDim, "uniform", "adagrad");
    if (capacity != nullptr) {
      request.config.capacity = SpecOf(capacity);
      request.config.eviction = SpecOf("lru");
    }
    const Status status =
        Call(service_.get(), &EmbeddingService::CreateTable, &request);
    return {request, status};
  }

  void Tell(const Topology& topology) {
    TopologyRequest request;
    request.told = topology.Encode();
    const Status status =
        Call(service_.get(), &EmbeddingService::ExchangeTopology, &request);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  // Gives the shard exactly these slots, in a cluster of two.
  void Own(const SlotSet& slots) {
    TopologyRequest asked;
    ASSERT_TRUE(
        Call(service_.get(), &EmbeddingService::ExchangeTopology, &asked).ok());
    own_ = asked.member;
    SharedTopology now = service_->CurrentTopology();
    if (now == nullptr) {
      Tell(*Topology::Found(
          1, {{own_, 3, 1, false, "a:1"}, {kOther, 4, 1, false, "b:1"}}));
      now = service_->CurrentTopology();
    }
    const SlotSet had = now->SlotsOf(own_);
    Tell(now->WithOwner(slots & ~had, own_).WithOwner(had & ~slots, kOther));
    ASSERT_EQ(service_->CurrentTopology()->SlotsOf(own_), slots);
  }

  uint64_t Route() const { return service_->CurrentTopology()->RouteOf(own_); }

  Status LookUpBag(const Ids& ids, uint64_t route) {
    const std::vector<uint32_t> offsets = {0,
                                           static_cast<uint32_t>(ids.size())};
    Floats row(kDim);
    LookupRequest request;
    request.route = route;
    request.read_only = true;
    request.tables = {{BagOf(ids, offsets), row}};
    return Call(service_.get(), &EmbeddingService::Lookup, &request);
  }

  Status UpdateBag(const Ids& ids, uint64_t route, uint64_t client) {
    const std::vector<uint32_t> offsets = {0,
                                           static_cast<uint32_t>(ids.size())};
    const Floats gradient(kDim, 1.0f);
    UpdateRequest request;
    request.route = route;
    request.client = client;
    request.sequence = 1;
    request.tables = {{BagOf(ids, offsets), gradient, 0.1f}};
    const Status status =
        Call(service_.get(), &EmbeddingService::Update, &request);
    if (status.ok()) {
      EXPECT_EQ(request.counts.applied, ids.size());
    }
    return status;
  }

  static TableIds BagOf(const Ids& ids, const std::vector<uint32_t>& offsets) {
    TableIds bag = IdsOf("t", ids);
    bag.combiner = Combiner::kSum;
    bag.bag_offsets = offsets;
    return bag;
  }

  void SetAll(const Ids& ids, float value) {
    const Floats weights(ids.size() * kDim, value);
    AssignRequest request;
    request.table = HashName("t");
    request.dim = kDim;
    request.ids = ids;
    request.weights = weights;
    if (service_->CurrentTopology() != nullptr) request.route = Route();
    const Status status =
        Call(service_.get(), &EmbeddingService::Assign, &request);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  Status Ask(CheckpointAction action, uint64_t save, uint64_t parent = 0,
             const std::vector<std::string>& files = {}) {
    CheckpointRequest request;
    request.deadline = DeadlineAfter(60);
    request.action = action;
    request.save_id = save;
    request.parent_id = parent;
    request.generation = save;
    request.folder = "save" + std::to_string(save);
    for (const std::string& file : files) {
      request.files.push_back(request.folder + "/" + file);
    }
    return Call(service_.get(), &EmbeddingService::Checkpoint, &request);
  }

  CheckpointProgress Progress() {
    CheckpointRequest request;
    request.deadline = DeadlineAfter(60);
    EXPECT_TRUE(
        Call(service_.get(), &EmbeddingService::Checkpoint, &request).ok());
    return request.shards.at(0);
  }

  Status HandOver(HandOverStep step, HandOverRequest* request) {
    request->deadline = DeadlineAfter(60);
    request->step = step;
    return Call(service_.get(), &EmbeddingService::HandOver, request);
  }

  // Slots that are held for another shard for longer than a test takes.
  static HandOverRequest ToOther(const SlotSet& slots) {
    HandOverRequest request;
    request.taker = kOther;
    request.slots = slots;
    request.hold_ms = HandOverRequest::kMostHoldMs;
    return request;
  }

  Status Hold(const SlotSet& slots) {
    HandOverRequest request = ToOther(slots);
    return HandOver(HandOverStep::kHold, &request);
  }

  Status WaitForJob() {
    for (;;) {
      const CheckpointProgress progress = Progress();
      if (progress.state == CheckpointProgress::State::kEnded) {
        return progress.outcome;
      }
    }
  }

  // Saves, and returns the name of the file.
  std::string Save(uint64_t save, uint64_t parent = 0) {
    EXPECT_TRUE(Ask(CheckpointAction::kSave, save, parent).ok());
    EXPECT_TRUE(WaitForJob().ok());
    return Progress().file;
  }

  void Commit(uint64_t save, const std::string& file) {
    const Status status = Ask(CheckpointAction::kCommit, save, 0, {file});
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Ask(CheckpointAction::kForget, save).ok());
  }

  void Read(uint64_t save, const std::string& file) {
    ASSERT_TRUE(Ask(CheckpointAction::kRestore, save, 0, {file}).ok());
    const Status status = WaitForJob();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  Rows Held() { return RowsOf(service_.get(), "t"); }

  const TemporaryFolder folder_;
  std::unique_ptr<EmbeddingService> service_;
  uint64_t own_ = 0;
};

TEST_F(OwnSlotsTest, BagsAreTakenWhereEveryIdIs) {
  EXPECT_TRUE(Make("t").first.takes_bags);
  Own(SlotsUpTo(kSlots));
  EXPECT_TRUE(Make("t").first.takes_bags);
  Own(SlotsUpTo(kSlots - 1));
  EXPECT_FALSE(Make("t").first.takes_bags);
  Own(SlotsUpTo(0));
  EXPECT_FALSE(Make("t").first.takes_bags);
}

TEST_F(OwnSlotsTest, BagsOfOtherShardsIdsAreRefusedWhoeverSendsThem) {
  const SlotSet half = SlotsUpTo(kSlots / 2);
  const Ids all = Range(0, 20), own = InSlots(half, all);
  ASSERT_TRUE(!own.empty() && own.size() < all.size());
  SetAll(all, 1);
  EXPECT_TRUE(LookUpBag(all, 0).ok());
  Own(half);
  for (const uint64_t route : {uint64_t{0}, Route()}) {
    EXPECT_EQ(LookUpBag(all, route).code(), Code::kMoved);
    EXPECT_TRUE(LookUpBag(own, route).ok());
    EXPECT_EQ(UpdateBag(all, route, /*client=*/0).code(), Code::kMoved);
    EXPECT_TRUE(UpdateBag(own, route, /*client=*/0).ok());
  }
  // An update that was refused may be sent again.
  EXPECT_EQ(UpdateBag(all, Route(), /*client=*/5).code(), Code::kMoved);
  EXPECT_TRUE(UpdateBag(own, Route(), /*client=*/5).ok());
}

TEST_F(OwnSlotsTest, ItsPartOfACapacityIsThatOfItsSlots) {
  const auto rows_of = [&](const std::string& table) {
    return RowsOf(service_.get(), table).size();
  };
  ASSERT_TRUE(Make("before", "rows(count=1000)").second.ok());
  Train(service_.get(), "before", Range(0, 3000));
  EXPECT_EQ(rows_of("before"), 1000u);
  Own(SlotsUpTo(kSlots / 4));
  const Ids own = InSlots(SlotsUpTo(kSlots / 4), Range(0, 3000));
  ASSERT_TRUE(Make("after", "rows(count=1000)").second.ok());
  for (const char* table : {"before", "after"}) {
    Train(service_.get(), table, own);
    EXPECT_EQ(rows_of(table), 250u) << table;
  }
  Restart();
  EXPECT_EQ(rows_of("before"), 250u);
  Own(SlotsUpTo(kSlots / 2));
  Train(service_.get(), "before", own);
  EXPECT_EQ(rows_of("before"), 500u);
}

TEST_F(OwnSlotsTest, ASaveHasTheRowsOfItsSlots) {
  const SlotSet slots = SlotsUpTo(1000);
  SetAll(Range(0, 1000), 1);
  Own(slots);
  const std::string file = Save(1);
  EXPECT_EQ(file, "shard-00003");
  const auto header =
      ReadShardHeader(LocalFiles(), folder_ / "checkpoints/save1/" + file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->member, own_);
  EXPECT_EQ(header->slots, slots);
  EXPECT_EQ(Progress().rows, InSlots(slots, Range(0, 1000)).size());
}

TEST_F(OwnSlotsTest, ASaveAfterItsSlotsChangedIsWhole) {
  const SlotSet half = SlotsUpTo(kSlots / 2), more = SlotsUpTo(kSlots / 2 + 1);
  Own(half);
  SetAll(InSlots(half, Range(0, 1000)), 1);
  Commit(1, Save(1));
  EXPECT_EQ(Progress().base_id, 1u);
  Own(more);
  EXPECT_EQ(Progress().base_id, 0u);
  const Status status = Ask(CheckpointAction::kSave, 2, /*parent=*/1);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("owns other slots now; save all rows"),
            std::string::npos)
      << status.message();
  Commit(3, Save(3));
  EXPECT_EQ(Progress().base_id, 3u);
  EXPECT_EQ(Save(4, /*parent=*/3), "shard-00003");
}

TEST_F(OwnSlotsTest, ARestoreTakesTheRowsOfItsSlots) {
  SetAll(Range(0, 1000), 1);
  const Rows all = Held();
  const std::string file = Save(1);
  EXPECT_EQ(file, "shard-00000");
  SlotSet odd;
  for (uint32_t slot = 1; slot < kSlots; slot += 2) odd.set(slot);
  Own(odd);
  SetAll(InSlots(odd, Range(0, 1000)), 2);
  Read(1, file);
  ASSERT_TRUE(Ask(CheckpointAction::kSwap, 1).ok());
  EXPECT_EQ(Held(), InSlots(odd, all));
  // The log names the checkpoint, and the slots that it was restored for. Rows
  // of slots that were given away since are removed.
  const SlotSet few = SlotsUpTo(10);
  Own(few);
  Restart();
  EXPECT_EQ(Held(), InSlots(odd & few, all));
}

TEST_F(OwnSlotsTest, SlotsThatMoveDuringARestoreEndIt) {
  SetAll(Range(0, 100), 1);
  const std::string file = Save(1);
  Read(1, file);
  Own(SlotsUpTo(10));
  const Status status = Ask(CheckpointAction::kSwap, 1);
  EXPECT_EQ(status.code(), Code::kMoved);
  EXPECT_EQ(status.message(),
            "slots moved to or from this shard while checkpoint 1 was read: "
            "restore it again");
}

TEST_F(OwnSlotsTest, SlotsAreNotHandedOverDuringARestore) {
  const std::string file = Save(1);
  Own(SlotsUpTo(10));
  Read(1, file);
  const Status status = Hold(SlotsUpTo(1));
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "a restore of a checkpoint is in progress: wait until it has "
            "ended, or restore again if it was interrupted");
  ASSERT_TRUE(Ask(CheckpointAction::kSwap, 1).ok());
  EXPECT_TRUE(Hold(SlotsUpTo(1)).ok());
}

// The reply to the first one was lost.
TEST_F(OwnSlotsTest, ACommitIsAnsweredAgainDuringARestore) {
  const std::string file = Save(1);
  Own(SlotsUpTo(20));
  HandOverRequest request = ToOther(SlotsUpTo(10));
  ASSERT_TRUE(HandOver(HandOverStep::kHold, &request).ok());
  ASSERT_TRUE(HandOver(HandOverStep::kCommit, &request).ok());
  Read(1, file);
  const Status again = HandOver(HandOverStep::kCommit, &request);
  EXPECT_TRUE(again.ok()) << again.message();
}

// No program tells a shard that has left its cluster that a restore has ended.
TEST_F(OwnSlotsTest, AShardWithoutSlotsDropsARestoreThatNobodyEnds) {
  const std::string file = Save(1);
  Own({});
  Read(1, file);
  EXPECT_EQ(Hold(SlotsUpTo(1)).message(),
            "this shard does not own the slots \"0\"");
  EXPECT_EQ(Progress().state, CheckpointProgress::State::kIdle);
}

TEST_F(OwnSlotsTest, RequestsThatWaitForSlotsGoOnWhenTheShardEnds) {
  Own(SlotsUpTo(kSlots / 2));
  const Ids ids = InSlots(SlotsUpTo(kSlots / 2), Range(0, 20));
  ASSERT_TRUE(Hold(SlotsUpTo(kSlots / 2)).ok());
  Floats rows(ids.size() * kDim);
  LookupRequest request;
  request.tables = {{IdsOf("t", ids), rows}};
  CallResult looked_up;
  service_->Lookup(&request, looked_up.done());
  EXPECT_FALSE(looked_up.ready());
  service_ = nullptr;
  ASSERT_TRUE(looked_up.ready());
  EXPECT_TRUE(looked_up.Wait().ok());
  Restart();
  EXPECT_EQ(Held().size(), ids.size());
}

// The shard recovers the rows of the slots that it owns now, not of those that
// it owned when it saved.
TEST_F(OwnSlotsTest, ACheckpointIsRecoveredForTheSlotsThatAreOwned) {
  Restart(RecoveryLevel::kCheckpoint);
  SetAll(Range(0, 1000), 1);
  const Rows all = Held();
  Commit(1, Save(1));
  Own(SlotsUpTo(500));
  Restart(RecoveryLevel::kCheckpoint);
  EXPECT_EQ(Held(), InSlots(SlotsUpTo(500), all));
}

}  // namespace
}  // namespace persia
