// A session over a real store: what training does to rows.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/pipeline/session.h"
#include "cc/shard/local_service.h"
#include "tests/cc/pipeline/outcome.h"
#include "tests/cc/pipeline/steps.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr char kName[] = "table";

// Rows are {1, 1}, and SGD at learning rate 1 subtracts gradients from them.
TableConfig Config() {
  TableConfig config;
  config.name = kName;
  config.dim = 2;
  config.initializer.name = "ones";
  config.optimizer.name = "sgd";
  return config;
}

class LocalTrainingTest : public testing::Test {
 protected:
  LocalTrainingTest() {
    SessionOptions options;
    options.staleness = 0;
    options.linger_seconds = 0;
    session_ = MakeSession(MakeLocalService(), options);
    EXPECT_EQ(CreateTable(), 0u);
  }

  // Returns how many rows the table held already.
  uint64_t CreateTable() {
    CreateTableRequest request;
    request.config = Config();
    ExpectOk(session_->CreateTable(&request));
    return request.rows;
  }

  Floats Lookup(const std::string& layer, const Ids& ids, bool training,
                Ticket* ticket) {
    Floats rows(ids.size() * 2);
    LayerCall call;
    call.layer = layer;
    call.table = HashName(kName);
    call.dim = 2;
    call.training = training;
    call.ids = ids;
    auto issued = session_->Issue(call);
    ExpectOk(issued.status());
    Outcome outcome;
    session_->Fetch(issued->lookup, rows, outcome.done());
    ExpectOk(outcome.status());
    *ticket = issued->ticket;
    return rows;
  }

  Floats Read(const Ids& ids) {
    Ticket ticket = 0;
    return Lookup("reader", ids, false, &ticket);
  }

  void Stage(const std::string& layer, const Ids& ids, Floats gradients) {
    Ticket ticket = 0;
    Lookup(layer, ids, true, &ticket);
    ExpectOk(
        session_->Stage(layer, ticket, MakeGradients(std::move(gradients))));
  }

  void Commit(const std::string& layer) {
    Outcome outcome;
    session_->Commit(layer, 1.0f, outcome.done());
    ExpectOk(outcome.status());
  }

  uint64_t RowsUpdated() {
    StatsRequest stats;
    ExpectOk(session_->Call(&stats));
    return stats.processes.at(0).tables.at(0).rows_updated;
  }

  std::unique_ptr<Session> session_;
};

TEST_F(LocalTrainingTest, ReadingCreatesNothing) {
  EXPECT_EQ(Read({5}), (Floats{0, 0}));
  EXPECT_EQ(CreateTable(), 0u);
}

TEST_F(LocalTrainingTest, ALookupForTrainingCreatesRows) {
  Ticket ticket = 0;
  EXPECT_EQ(Lookup("a", {5, 6, 5}, true, &ticket), (Floats{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(CreateTable(), 2u);
}

TEST_F(LocalTrainingTest, SumsTheGradientsOfDuplicatesAndStepsOnce) {
  Stage("a", {5, 6, 5}, {1, 2, 10, 20, 100, 200});
  Commit("a");
  EXPECT_EQ(Read({5, 6}), (Floats{-100, -201, -9, -19}));
  EXPECT_EQ(RowsUpdated(), 2u);
}

TEST_F(LocalTrainingTest, LayersThatShareATableStepARowOnce) {
  Ticket a = 0;
  Ticket b = 0;
  Lookup("a", {5}, true, &a);
  Lookup("b", {5}, true, &b);
  ExpectOk(session_->Stage("a", a, MakeGradients({1, 2})));
  ExpectOk(session_->Stage("b", b, MakeGradients({10, 20})));
  Commit("a");
  EXPECT_EQ(RowsUpdated(), 0u);
  Commit("b");
  EXPECT_EQ(RowsUpdated(), 1u);
  EXPECT_EQ(Read({5}), (Floats{-10, -21}));
}

TEST_F(LocalTrainingTest, TheNextLookupSeesTheStepThatWasHeld) {
  Ticket frozen = 0;
  Lookup("frozen", {9}, true, &frozen);
  for (int step = 0; step < 50; ++step) {
    Ticket ticket = 0;
    const float expected = 1.0f - static_cast<float>(step);
    ASSERT_EQ(Lookup("a", {5}, true, &ticket), (Floats{expected, expected}));
    ExpectOk(session_->Stage("a", ticket, MakeGradients({1, 1})));
    Commit("a");
  }
}

TEST_F(LocalTrainingTest, ANonFiniteGradientIsSkippedAlone) {
  Stage("a", {5, 6}, {std::numeric_limits<float>::quiet_NaN(), 0, 1, 1});
  Commit("a");
  ExpectOk(session_->Flush());
  EXPECT_EQ(Read({5, 6}), (Floats{1, 1, 0, 0}));
  EXPECT_EQ(session_->Counters().gradients_nonfinite, 1u);
}

TEST_F(LocalTrainingTest, AnUnknownTableIsAnError) {
  const Ids ids{1};
  Floats row(2);
  LayerCall call;
  call.layer = "a";
  call.table = HashName("never created");
  call.dim = 2;
  call.ids = ids;
  auto issued = session_->Issue(call);
  ASSERT_TRUE(issued.ok());
  Outcome outcome;
  session_->Fetch(issued->lookup, row, outcome.done());
  EXPECT_EQ(outcome.status().code(), Code::kNotFound);
}

TEST_F(LocalTrainingTest, ManyTrainersShareASession) {
  constexpr int kTrainers = 4;
  constexpr int kSteps = 50;
  std::vector<std::thread> trainers;
  for (int t = 0; t < kTrainers; ++t) {
    trainers.emplace_back([this, t] {
      const std::string layer = "layer " + std::to_string(t);
      for (int step = 0; step < kSteps; ++step) {
        Stage(layer, {5, 100 + t}, {1, 1, 1, 1});
        Commit(layer);
        Read({5});
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  ExpectOk(session_->Flush());
  constexpr float kEach = 1.0f - kSteps;
  constexpr float kShared = 1.0f - kTrainers * kSteps;
  EXPECT_EQ(Read({5, 100, 103}),
            (Floats{kShared, kShared, kEach, kEach, kEach, kEach}));
}

}  // namespace
}  // namespace persia
