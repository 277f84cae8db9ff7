#include "cc/shard/local_service.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "cc/service/await.h"
#include "tests/cc/shard/local_service_fixture.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

class LocalServiceTest : public LocalServiceFixture {
 protected:
  ServiceStats Stats() {
    StatsRequest request;
    EXPECT_TRUE(Call(&EmbeddingService::Stats, &request).ok());
    EXPECT_EQ(request.processes.size(), 1u);
    return request.processes[0];
  }

  // Ids 1 and 2 of both tables, which a good update moves by -1.
  struct GoodUpdate {
    Ids ids = {1, 2};
    Floats gradients_a = {1, 1, 1, 1};
    Floats gradients_b = {1, 1};
    UpdateRequest request;

    GoodUpdate() {
      request.tables = {{IdsOf("a", 2, ids), gradients_a, 1.0f},
                        {IdsOf("b", 1, ids), gradients_b, 1.0f}};
    }
    GoodUpdate(const GoodUpdate&) = delete;
  };

  void CreateRows() {
    Look("a", 2, {1, 2});
    Look("b", 1, {1, 2});
  }

  void ExpectRows(float value) {
    EXPECT_EQ(Look("a", 2, {1, 2}, true), Floats(4, value));
    EXPECT_EQ(Look("b", 1, {1, 2}, true), Floats(2, value));
  }

  // `update`, whose second table is bad, must change nothing.
  void ExpectRefused(GoodUpdate* update, Code code,
                     const std::string& message_part) {
    CreateRows();
    update->request.client = 1;
    update->request.sequence = 1;
    const Status status = Call(&EmbeddingService::Update, &update->request);
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(message_part), std::string::npos)
        << status.message();
    ExpectRows(1);
    // The refused update's number can be used again.
    GoodUpdate good;
    good.request.client = 1;
    good.request.sequence = 1;
    EXPECT_TRUE(Call(&EmbeddingService::Update, &good.request).ok());
    ExpectRows(0);
  }
};

TEST_F(LocalServiceTest, CreateTableAttachesAndTellsItsRows) {
  Look("a", 2, {1, 2, 3});
  uint64_t rows = 0;
  EXPECT_TRUE(Create(MakeConfig("a", 2, "ones", "sgd"), &rows).ok());
  EXPECT_EQ(rows, 3u);
}

TEST_F(LocalServiceTest, CreateTableRefusesOtherSettings) {
  EXPECT_EQ(Create(MakeConfig("a", 3, "ones", "sgd")).code(),
            Code::kAlreadyExists);
}

TEST_F(LocalServiceTest, LooksUpSeveralTables) {
  const Ids ids_a = {1, 2}, ids_b = {5};
  Floats rows_a(4), rows_b(1);
  LookupRequest request;
  request.tables = {{IdsOf("a", 2, ids_a), rows_a},
                    {IdsOf("b", 1, ids_b), rows_b}};
  EXPECT_TRUE(Call(&EmbeddingService::Lookup, &request).ok());
  EXPECT_EQ(rows_a, Floats(4, 1));
  EXPECT_EQ(rows_b, Floats(1, 1));
  EXPECT_EQ(request.generation, 0u);
}

TEST_F(LocalServiceTest, AReadOnlyLookupCreatesNothing) {
  EXPECT_EQ(Look("a", 2, {1}, /*read_only=*/true), (Floats{0, 0}));
  EXPECT_EQ(Stats().tables[0].rows, 0u);
}

TEST_F(LocalServiceTest, ABadLookupCreatesNothing) {
  const Ids ids = {1};
  Floats rows_a(2), rows_b(1);
  for (const bool bad_table : {true, false}) {
    LookupRequest request;
    request.tables = {{IdsOf("a", 2, ids), rows_a},
                      {IdsOf("b", 1, ids), rows_b}};
    if (bad_table) {
      request.tables[1].ids.table = 12345;
    } else {
      request.tables[1].rows = rows_a;
    }
    EXPECT_EQ(Call(&EmbeddingService::Lookup, &request).code(),
              bad_table ? Code::kNotFound : Code::kInvalidArgument);
  }
  EXPECT_EQ(Stats().tables[0].rows, 0u);
}

TEST_F(LocalServiceTest, UpdatesSeveralTables) {
  CreateRows();
  GoodUpdate update;
  EXPECT_TRUE(Call(&EmbeddingService::Update, &update.request).ok());
  ExpectRows(0);
  EXPECT_EQ(update.request.counts.applied, 4u);
}

TEST_F(LocalServiceTest, AddsUpTheCountsOfAllTables) {
  Look("a", 2, {1, 2});
  Look("b", 1, {1});
  GoodUpdate update;
  update.gradients_a[0] = NAN;
  EXPECT_TRUE(Call(&EmbeddingService::Update, &update.request).ok());
  EXPECT_EQ(update.request.counts.applied, 2u);
  EXPECT_EQ(update.request.counts.nonfinite, 1u);
  EXPECT_EQ(update.request.counts.absent, 1u);
}

TEST_F(LocalServiceTest, AppliesARepeatedUpdateOnce) {
  CreateRows();
  for (int time = 0; time < 3; ++time) {
    GoodUpdate update;
    update.request.client = 7;
    update.request.sequence = 1;
    EXPECT_TRUE(Call(&EmbeddingService::Update, &update.request).ok());
    EXPECT_EQ(update.request.counts.applied, time == 0 ? 4u : 0u);
  }
  ExpectRows(0);
  EXPECT_EQ(Stats().updates, 3u);
  EXPECT_EQ(Stats().repeated_updates, 2u);
}

TEST_F(LocalServiceTest, AppliesEveryUpdateOfClientZero) {
  CreateRows();
  for (int time = 0; time < 3; ++time) {
    GoodUpdate update;
    EXPECT_TRUE(Call(&EmbeddingService::Update, &update.request).ok());
  }
  ExpectRows(-2);
  EXPECT_EQ(Stats().repeated_updates, 0u);
}

TEST_F(LocalServiceTest, RefusesAnUpdateWhoseFateItForgot) {
  CreateRows();
  GoodUpdate newest;
  newest.request.client = 7;
  newest.request.sequence = 5000;
  EXPECT_TRUE(Call(&EmbeddingService::Update, &newest.request).ok());
  GoodUpdate old;
  old.request.client = 7;
  old.request.sequence = 1;
  EXPECT_EQ(Call(&EmbeddingService::Update, &old.request).code(),
            Code::kFailedPrecondition);
  ExpectRows(0);
}

TEST_F(LocalServiceTest, AnUpdateOfAnUnknownTableChangesNothing) {
  GoodUpdate update;
  update.request.tables[1].ids.table = 12345;
  ExpectRefused(&update, Code::kNotFound, "12345");
}

TEST_F(LocalServiceTest, AnUpdateOfAnotherWidthChangesNothing) {
  GoodUpdate update;
  update.request.tables[1].ids.dim = 2;
  ExpectRefused(&update, Code::kInvalidArgument,
                "table \"b\" has output_dim 1, received 2");
}

TEST_F(LocalServiceTest, AnUpdateWithTooFewGradientsChangesNothing) {
  GoodUpdate update;
  update.gradients_b.pop_back();
  update.request.tables[1].gradients = update.gradients_b;
  ExpectRefused(&update, Code::kInvalidArgument,
                "gradients of table \"b\" must hold 2 numbers, received 1");
}

TEST_F(LocalServiceTest, AnUpdateWithBadBagsChangesNothing) {
  GoodUpdate update;
  update.request.tables[1].ids.combiner = Combiner::kSum;
  ExpectRefused(&update, Code::kInvalidArgument, "must begin with 0");
}

TEST_F(LocalServiceTest, AnUpdateWithABadLearningRateChangesNothing) {
  GoodUpdate update;
  update.request.tables[1].learning_rate = NAN;
  ExpectRefused(&update, Code::kInvalidArgument,
                "learning_rate must be finite, received nan");
}

TEST_F(LocalServiceTest, AnUpdateOfAnotherGenerationChangesNothing) {
  GoodUpdate update;
  update.request.generation = 3;
  ExpectRefused(&update, Code::kFailedPrecondition, "generation 3");
}

// Table "a" holds 1 = {1, 10} and 2 = {2, 20}; bags {1, 2, 1}, {} and {2}.
class LocalServiceBagsTest : public LocalServiceTest {
 protected:
  LocalServiceBagsTest() {
    Look("a", 2, {1, 2});
    const Ids ids = {1, 2};
    const Floats gradients = {0, -9, -1, -19};
    UpdateRequest request;
    request.tables = {{IdsOf("a", 2, ids), gradients, 1.0f}};
    EXPECT_TRUE(Call(&EmbeddingService::Update, &request).ok());
  }

  TableIds Bags(Combiner combiner) const {
    TableIds bags = IdsOf("a", 2, ids_);
    bags.combiner = combiner;
    bags.bag_offsets = offsets_;
    return bags;
  }

  const Ids ids_ = {1, 2, 1, 2};
  const std::vector<uint32_t> offsets_ = {0, 3, 3, 4};
};

TEST_F(LocalServiceBagsTest, LookupPoolsABagIntoOneVector) {
  Floats rows(6, -77.0f);
  LookupRequest request;
  request.tables = {{Bags(Combiner::kSum), rows}};
  EXPECT_TRUE(Call(&EmbeddingService::Lookup, &request).ok());
  EXPECT_EQ(rows, (Floats{4, 40, 0, 0, 2, 20}));
}

TEST_F(LocalServiceBagsTest, UpdateRunsTheOptimizerOnceAnId) {
  const Floats gradients = {1, 2, 50, 50, 10, 20};
  UpdateRequest request;
  request.tables = {{Bags(Combiner::kSum), gradients, 1.0f}};
  EXPECT_TRUE(Call(&EmbeddingService::Update, &request).ok());
  EXPECT_EQ(request.counts.applied, 2u);
  // Id 1 is twice in the first bag; id 2 is in the first and in the last.
  EXPECT_EQ(Look("a", 2, {1, 2}), (Floats{1 - 2, 10 - 4, 2 - 11, 20 - 22}));
}

TEST_F(LocalServiceBagsTest, WantsOneVectorABag) {
  Floats rows(8);
  LookupRequest request;
  request.tables = {{Bags(Combiner::kMean), rows}};
  const Status status = Call(&EmbeddingService::Lookup, &request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "rows of table \"a\" must hold 6 numbers, received 8");
}

TEST_F(LocalServiceTest, StatsTellAboutTheProcess) {
  CreateRows();
  const ServiceStats stats = Stats();
  EXPECT_EQ(stats.address, "embedded");
  EXPECT_EQ(stats.generation, 0u);
  EXPECT_EQ(stats.lookups, 2u);
  EXPECT_EQ(stats.updates, 0u);
  ASSERT_EQ(stats.tables.size(), 2u);
  EXPECT_EQ(stats.tables[1].name, "b");
  EXPECT_EQ(stats.tables[1].rows, 2u);
}

TEST_F(LocalServiceTest, StatsTellAboutTrainersAndMemory) {
  CreateRows();
  GoodUpdate update;
  update.request.trainer = {"host:1", 3};
  EXPECT_TRUE(Call(&EmbeddingService::Update, &update.request).ok());
  const ServiceStats stats = Stats();
  EXPECT_EQ(stats.role, "shard");
  ASSERT_EQ(stats.trainers.size(), 1u);
  EXPECT_EQ(stats.trainers[0].program, "host:1");
  EXPECT_EQ(stats.trainers[0].staleness, 3u);
  EXPECT_GE(stats.memory_bytes, stats.tables[0].bytes + stats.tables[1].bytes);
  EXPECT_EQ(stats.memory_limit, 0u);  // Unlimited.
  EXPECT_EQ(stats.log_records, 0u);   // There is no log.
}

TEST_F(LocalServiceTest, MayBeCalledFromDone) {
  const Ids ids = {1};
  Floats rows(2);
  LookupRequest request;
  request.tables = {{IdsOf("a", 2, ids), rows}};
  bool done = false;
  service_->Lookup(&request, [&](Status outer) {
    EXPECT_TRUE(outer.ok());
    EXPECT_EQ(Look("a", 2, {1}), (Floats{1, 1}));
    done = true;
  });
  EXPECT_TRUE(done);
}

// A call that a service does not override is kUnimplemented.
template <typename... Requests>
void ExpectAllTaken(EmbeddingService* service, std::variant<Requests*...>) {
  const auto expect_taken = [&](auto request) {
    const Status status = Await(
        [&](DoneCallback done) { service->Call(&request, std::move(done)); });
    EXPECT_NE(status.code(), Code::kUnimplemented) << typeid(request).name();
  };
  (expect_taken(Requests()), ...);
}

TEST(LocalServiceCallsTest, AShardTakesEveryCall) {
  ExpectAllTaken(MakeLocalService().get(), AnyRequest());
}

}  // namespace
}  // namespace persia
