#include "cc/pipeline/push_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/pipeline/outcome.h"
#include "tests/cc/pipeline/steps.h"

namespace persia {
namespace {

constexpr TableKey kTable = 11;
constexpr TableKey kOtherTable = 22;

class PushQueueTest : public testing::Test {
 protected:
  PushQueueTest() {
    queue_.emplace(service_.get(), /*timeout_seconds=*/100, SameThread,
                   &helpers_);
  }
  ~PushQueueTest() override { control_->ReleaseAll(); }

  static DoneCallback SameThread(DoneCallback done) { return done; }

  void Push(TableStep step) {
    StepGroup group;
    group.push_back(std::move(step));
    queue_->Push(std::move(group));
  }

  // Queues a step, and waits until the service holds its request.
  void PushHeld(TableStep step) {
    control_->HoldUpdates(true);
    const size_t before = control_->updates();
    Push(std::move(step));
    control_->WaitForUpdates(before + 1);
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  const std::unique_ptr<EmbeddingService> service_ = MakeFakeService(control_);
  CallbackThreads helpers_;
  std::optional<PushQueue> queue_;
};

TEST_F(PushQueueTest, SendsTheSumsOfAStep) {
  TableStep step = MakeStep(kTable);
  AddPart(&step, {3, 4, 3}, {1, 10, 2});
  AddPart(&step, {4, 5}, {20, 30});
  Push(std::move(step));
  ExpectOk(queue_->Flush());

  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.at(0).tables.size(), 1u);
  const SeenTable& table = updates.at(0).tables.at(0);
  EXPECT_EQ(table.table, kTable);
  EXPECT_EQ(table.dim, 1u);
  EXPECT_EQ(table.learning_rate, 0.5f);
  EXPECT_EQ(table.ids, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(table.gradients, (std::vector<float>{3, 30, 30}));
}

TEST_F(PushQueueTest, TellsOfTheProgramAndItsStaleness) {
  StalenessMeter meter;
  meter.Add(4);
  meter.Add(2);
  PushQueue queue(service_.get(), 100, SameThread, &helpers_, &meter);
  TableStep step = MakeStep(kTable);
  AddPart(&step, {1}, {1});
  StepGroup group;
  group.push_back(std::move(step));
  queue.Push(std::move(group));
  ExpectOk(queue.Flush());
  const TrainerState trainer = control_->WaitForUpdates(1).at(0).trainer;
  EXPECT_EQ(trainer.staleness, 2u);
  const std::string pid = Concat(":", getpid());
  ASSERT_GT(trainer.program.size(), pid.size());
  EXPECT_EQ(trainer.program.substr(trainer.program.size() - pid.size()), pid);
}

TEST_F(PushQueueTest, SumsManyGradientsOfEachTable) {
  constexpr size_t kTables = 10, kIds = 20000;
  StepGroup group;
  for (size_t t = 0; t < kTables; ++t) {
    std::vector<int64_t> ids(kIds);
    std::vector<float> gradients(kIds);
    for (size_t i = 0; i < kIds; ++i) {
      ids[i] = static_cast<int64_t>(i % 100);
      gradients[i] = static_cast<float>(t + 1);
    }
    TableStep step = MakeStep(t);
    AddPart(&step, ids, gradients);
    group.push_back(std::move(step));
  }
  queue_->Push(std::move(group));
  ExpectOk(queue_->Flush());
  const SeenUpdate update = control_->WaitForUpdates(1).at(0);
  ASSERT_EQ(update.tables.size(), kTables);
  for (size_t t = 0; t < kTables; ++t) {
    EXPECT_EQ(update.tables[t].table, t);
    const auto sum = static_cast<float>(kIds / 100 * (t + 1));
    EXPECT_EQ(update.tables[t].gradients, std::vector<float>(100, sum));
  }
}

TEST_F(PushQueueTest, NumbersItsRequestsForTheService) {
  for (int i = 0; i < 3; ++i) {
    Push(MakeOneIdStep(kTable, i));
    ExpectOk(queue_->Flush());
  }
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(3);
  EXPECT_NE(updates.at(0).client, 0u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(updates.at(i).client, updates.at(0).client);
    EXPECT_EQ(updates.at(i).sequence, updates.at(0).sequence + i);
  }
}

TEST_F(PushQueueTest, IsAnotherClientThanOtherQueues) {
  PushQueue other(service_.get(), 100, SameThread, &helpers_);
  Push(MakeOneIdStep(kTable, 1));
  ExpectOk(queue_->Flush());
  StepGroup group;
  group.push_back(MakeOneIdStep(kTable, 1));
  other.Push(std::move(group));
  ExpectOk(other.Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(2);
  EXPECT_NE(updates.at(0).client, updates.at(1).client);
}

TEST_F(PushQueueTest, GivesRequestsTheSessionsTimeout) {
  Push(MakeOneIdStep(kTable, 1));
  ExpectOk(queue_->Flush());
  const double seconds = control_->WaitForUpdates(1).at(0).seconds_left;
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, 100);
}

TEST_F(PushQueueTest, SendsTheTablesOfAStepAsOneRequest) {
  StepGroup group;
  group.push_back(MakeOneIdStep(kTable, 1));
  group.push_back(MakeOneIdStep(kOtherTable, 2));
  queue_->Push(std::move(group));
  ExpectOk(queue_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  ASSERT_EQ(updates.at(0).tables.size(), 2u);
  EXPECT_EQ(updates.at(0).tables.at(1).ids, (std::vector<int64_t>{2}));
  EXPECT_EQ(queue_->counters().updates, 1u);
}

TEST_F(PushQueueTest, AnEmptyStepIsNone) {
  queue_->Push({});
  ExpectOk(queue_->Flush());
  EXPECT_EQ(control_->updates(), 0u);
  EXPECT_EQ(queue_->newest_sequence(), 0u);
}

TEST_F(PushQueueTest, SendsTheNextStepWithoutWaitingForTheFirst) {
  PushHeld(MakeOneIdStep(kTable, 1));
  Push(MakeOneIdStep(kTable, 2));
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(2);
  EXPECT_EQ(updates.at(1).tables.at(0).ids, (std::vector<int64_t>{2}));
  EXPECT_EQ(queue_->counters().updates_pending, 2u);
}

TEST_F(PushQueueTest, HasSoManyRequestsOnTheirWayAtMost) {
  for (size_t i = 0; i < PushQueue::kMaxInFlight; ++i) {
    PushHeld(MakeOneIdStep(kTable, 1));
  }
  Push(MakeOneIdStep(kTable, 2));
  Outcome room;
  queue_->WhenPendingAtMost({kTable}, PushQueue::kMaxInFlight, room.done());
  EXPECT_FALSE(room.ready());
  EXPECT_EQ(control_->updates(), PushQueue::kMaxInFlight);
  control_->CompleteUpdate();
  ExpectOk(room.status());
  control_->WaitForUpdates(PushQueue::kMaxInFlight + 1);
}

TEST_F(PushQueueTest, KnowsHowFarEachTableIs) {
  PushHeld(MakeOneIdStep(kTable, 1));
  Push(MakeOneIdStep(kTable, 2));
  control_->WaitForUpdates(2);
  Outcome first;
  queue_->WhenPendingAtMost({kTable}, 1, first.done());
  control_->CompleteUpdate();
  ExpectOk(first.status());
  EXPECT_EQ(queue_->ProgressOf(kTable).committed, 2u);
  EXPECT_EQ(queue_->ProgressOf(kTable).acknowledged, 1u);
  EXPECT_EQ(queue_->ProgressOf(kOtherTable).committed, 0u);
}

TEST_F(PushQueueTest, CarriesTheOldestGenerationOfItsLookups) {
  StepGroup group;
  for (const uint64_t generation : {8, 7, 9}) {
    TableStep step = MakeStep(kTable);
    auto plan = MakePlan("layer", kTable, 1, {1});
    plan->generation = generation;
    step.parts.push_back({plan, MakeGradients({1})});
    group.push_back(std::move(step));
  }
  queue_->Push(std::move(group));
  ExpectOk(queue_->Flush());
  EXPECT_EQ(control_->WaitForUpdates(1).at(0).generation, 7u);
}

TEST_F(PushQueueTest, WaitingEndsAtOnceIfFewArePending) {
  Outcome room;
  queue_->WhenPendingAtMost({kTable}, 0, room.done());
  EXPECT_TRUE(room.ready());
  ExpectOk(room.status());
  EXPECT_EQ(room.thread(), std::this_thread::get_id());
}

TEST_F(PushQueueTest, CountsAcknowledgementsByTable) {
  PushHeld(MakeOneIdStep(kTable, 1));
  Push(MakeOneIdStep(kTable, 2));
  Outcome one, two, other;
  queue_->WhenPendingAtMost({kTable}, 1, one.done());
  queue_->WhenPendingAtMost({kTable}, 2, two.done());
  queue_->WhenPendingAtMost({kOtherTable}, 0, other.done());
  EXPECT_FALSE(one.ready());
  EXPECT_TRUE(two.ready());
  EXPECT_TRUE(other.ready());
  control_->CompleteUpdate();
  ExpectOk(one.status());
  control_->WaitForUpdates(2);
  control_->CompleteUpdate();
  ExpectOk(queue_->Flush());
}

TEST_F(PushQueueTest, WaitsForEveryTableThatIsNamed) {
  PushHeld(MakeOneIdStep(kTable, 1));
  PushHeld(MakeOneIdStep(kOtherTable, 2));
  Outcome both;
  queue_->WhenPendingAtMost({kTable, kOtherTable}, 0, both.done());
  Outcome one;
  queue_->WhenPendingAtMost({kTable}, 0, one.done());
  control_->CompleteUpdate();
  ExpectOk(one.status());
  EXPECT_FALSE(both.ready());
  control_->CompleteUpdate();
  ExpectOk(both.status());
}

TEST_F(PushQueueTest, CountsTheUpdatesOfATableAfterOne) {
  for (const TableKey table : {kTable, kOtherTable, kTable, kTable}) {
    Push(MakeOneIdStep(table, 1));
  }
  EXPECT_EQ(queue_->UpdatesAfter(kTable, 0), 3u);
  EXPECT_EQ(queue_->UpdatesAfter(kTable, 1), 2u);
  EXPECT_EQ(queue_->UpdatesAfter(kTable, 3), 1u);
  EXPECT_EQ(queue_->UpdatesAfter(kTable, 4), 0u);
  EXPECT_EQ(queue_->UpdatesAfter(kOtherTable, 1), 1u);
  EXPECT_EQ(queue_->UpdatesAfter(33, 0), 0u);
}

TEST_F(PushQueueTest, KnowsWhatIsAcknowledgedWithoutGaps) {
  PushHeld(MakeOneIdStep(kTable, 1));
  PushHeld(MakeOneIdStep(kTable, 2));
  EXPECT_TRUE(queue_->AreAcknowledged(0));
  EXPECT_FALSE(queue_->AreAcknowledged(1));
  control_->CompleteUpdate();
  Outcome first;
  queue_->WhenPendingAtMost({kTable}, 1, first.done());
  ExpectOk(first.status());
  EXPECT_TRUE(queue_->AreAcknowledged(1));
  EXPECT_FALSE(queue_->AreAcknowledged(2));
}

TEST_F(PushQueueTest, LaterStepsDoNotProlongAWaitForAcknowledgement) {
  PushHeld(MakeOneIdStep(kTable, 1));
  Outcome earlier, all;
  queue_->WhenAcknowledged({kTable}, earlier.done());
  PushHeld(MakeOneIdStep(kTable, 2));
  queue_->WhenAcknowledged({kTable}, all.done());
  control_->CompleteUpdate();
  ExpectOk(earlier.status());
  EXPECT_FALSE(all.ready());
  control_->CompleteUpdate();
  ExpectOk(all.status());
}

TEST_F(PushQueueTest, FlushReturnsAnErrorOnce) {
  PushHeld(MakeOneIdStep(kTable, 1));
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  const Status status = queue_->Flush();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "an update was not applied: shard 3 is gone");
  ExpectOk(queue_->error());
  ExpectOk(queue_->Flush());
  EXPECT_EQ(queue_->counters().updates, 0u);
}

TEST_F(PushQueueTest, AnErrorEndsAllWaits) {
  PushHeld(MakeOneIdStep(kTable, 1));
  PushHeld(MakeOneIdStep(kOtherTable, 2));
  Outcome room, other, later;
  queue_->WhenPendingAtMost({kTable}, 0, room.done());
  queue_->WhenPendingAtMost({kOtherTable}, 0, other.done());
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_EQ(room.status().code(), Code::kUnavailable);
  EXPECT_EQ(other.status().code(), Code::kUnavailable);
  queue_->WhenPendingAtMost({kTable}, 9, later.done());
  EXPECT_TRUE(later.ready());
  EXPECT_EQ(later.status().code(), Code::kUnavailable);
}

TEST_F(PushQueueTest, DropsAndCountsWhatIsQueuedBehindAnError) {
  for (size_t i = 0; i < PushQueue::kMaxInFlight; ++i) {
    PushHeld(MakeOneIdStep(kTable, 1));
  }
  Push(MakeOneIdStep(kTable, 2));
  Push(MakeOneIdStep(kOtherTable, 3));
  Outcome failed;
  queue_->WhenPendingAtMost({kTable}, 0, failed.done());
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_EQ(failed.status().message(),
            "an update was not applied: gone; updates dropped after it: 2");
  Push(MakeOneIdStep(kTable, 4));
  control_->ReleaseAll();
  EXPECT_EQ(queue_->Flush().message(),
            "an update was not applied: gone; updates dropped after it: 3");
  EXPECT_EQ(control_->updates(), PushQueue::kMaxInFlight);
}

TEST_F(PushQueueTest, CountsOthersThatFailBehindAnError) {
  PushHeld(MakeOneIdStep(kTable, 1));
  PushHeld(MakeOneIdStep(kTable, 2));
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone too"));
  EXPECT_EQ(queue_->Flush().message(),
            "an update was not applied: gone; updates dropped after it: 1");
}

TEST_F(PushQueueTest, SendsAgainOnceAnErrorWasReported) {
  PushHeld(MakeOneIdStep(kTable, 1));
  control_->HoldUpdates(false);
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(queue_->Flush().ok());
  Push(MakeOneIdStep(kTable, 2));
  ExpectOk(queue_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(2);
  EXPECT_EQ(updates.at(1).tables.at(0).ids, (std::vector<int64_t>{2}));
  EXPECT_EQ(updates.at(1).sequence, updates.at(0).sequence + 1);
}

TEST_F(PushQueueTest, AddsUpWhatTheServiceSkipped) {
  UpdateCounts counts;
  counts.nonfinite = 2;
  counts.absent = 3;
  control_->SetCounts(counts);
  for (int i = 0; i < 2; ++i) {
    Push(MakeOneIdStep(kTable, i));
    ExpectOk(queue_->Flush());
  }
  EXPECT_EQ(queue_->counters().gradients_nonfinite, 4u);
  EXPECT_EQ(queue_->counters().gradients_absent, 6u);
}

TEST_F(PushQueueTest, EndsAfterSendingWhatIsQueued) {
  PushHeld(MakeOneIdStep(kTable, 1));
  Push(MakeOneIdStep(kTable, 2));
  Outcome sent;
  queue_->WhenPendingAtMost({kTable}, 0, sent.done());
  control_->WaitForUpdates(2);
  control_->HoldUpdates(false);
  std::thread ending([&] { queue_.reset(); });
  control_->CompleteUpdate();
  control_->CompleteUpdate();
  ending.join();
  EXPECT_TRUE(sent.ready());
  ExpectOk(sent.status());
  EXPECT_EQ(control_->updates(), 2u);
}

TEST_F(PushQueueTest, LetsGoOfGradientsThatWereSent) {
  auto owner = std::make_shared<const std::vector<float>>(1);
  const std::weak_ptr<const void> alive = owner;
  TableStep step = MakeStep(kTable);
  SharedGradients gradients;
  gradients.vectors = *owner;
  gradients.owner = std::move(owner);
  step.parts.push_back(
      {MakePlan("layer", kTable, 1, {1}), std::move(gradients)});
  Push(std::move(step));
  queue_.reset();
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace persia
