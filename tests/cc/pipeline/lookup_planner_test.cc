#include "cc/pipeline/lookup_planner.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace persia {
namespace {

constexpr TableKey kTable = 7;

// One bag of rows of four numbers; refers to its arguments.
TableIds OneBag(const std::vector<int64_t>& ids,
                const std::vector<uint32_t>& offsets, Combiner combiner) {
  TableIds bags;
  bags.table = kTable;
  bags.dim = 4;
  bags.ids = ids;
  bags.combiner = combiner;
  bags.bag_offsets = offsets;
  return bags;
}

std::shared_ptr<LookupPlan> PlanOne(const LookupPlanner& planner,
                                    const TableIds& ids) {
  const std::string layer = "layer";
  const LookupPlanner::Ids lookup{&layer, &ids};
  return planner.Plan({&lookup, 1}).front();
}

// One bag of `ids` unique ids.
bool SendsOneBag(LookupPlanner* planner, size_t ids, TableKey table = kTable) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < ids; ++i) numbers.push_back(static_cast<int64_t>(i));
  const std::vector<uint32_t> offsets = {0, static_cast<uint32_t>(ids)};
  TableIds bags = OneBag(numbers, offsets, Combiner::kMean);
  bags.table = table;
  planner->SendBagsOf(kTable);
  return PlanOne(*planner, bags)->sends_bags();
}

// A row is 16 bytes, two offsets are 8: with one id the row is less, with two
// the vector.
TEST(LookupPlanner, SendsWhatMovesLess) {
  CallbackThreads threads;
  const EmbeddingService service;
  LookupPlanner planner(&service, WireDtype::kFloat32, &threads);
  EXPECT_FALSE(SendsOneBag(&planner, 1));
  EXPECT_TRUE(SendsOneBag(&planner, 2));
}

// A row is 8 bytes, as much as the offsets: with two ids, both ways cost the
// same.
TEST(LookupPlanner, CountsBytesAsTheyTravel) {
  CallbackThreads threads;
  const EmbeddingService service;
  LookupPlanner planner(&service, WireDtype::kBfloat16, &threads);
  EXPECT_FALSE(SendsOneBag(&planner, 2));
  EXPECT_TRUE(SendsOneBag(&planner, 3));
}

// A row is 4 bytes, two offsets are 8. Ten ids that occur twice are 20 ids in a
// bag, which is less than their rows only if ids take few bytes.
TEST(LookupPlanner, CountsTheBytesOfIds) {
  CallbackThreads threads;
  const EmbeddingService service;
  LookupPlanner planner(&service, WireDtype::kInt4, &threads);
  planner.SendBagsOf(kTable);
  const std::vector<uint32_t> offsets = {0, 20};
  for (const int64_t distance : {int64_t{1}, int64_t{1} << 58}) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < 20; ++i) ids.push_back(i / 2 * distance);
    const TableIds bags = OneBag(ids, offsets, Combiner::kSum);
    EXPECT_EQ(PlanOne(planner, bags)->sends_bags(), distance == 1) << distance;
  }
}

TEST(LookupPlanner, SendsBagsOfTheirTablesAlone) {
  CallbackThreads threads;
  const EmbeddingService service;
  LookupPlanner planner(&service, WireDtype::kFloat32, &threads);
  EXPECT_FALSE(SendsOneBag(&planner, 100, kTable + 1));
}

TEST(LookupPlanner, KeepsWhatABagNeeds) {
  CallbackThreads threads;
  const EmbeddingService service;
  LookupPlanner planner(&service, WireDtype::kFloat32, &threads);
  planner.SendBagsOf(kTable);
  std::vector<int64_t> numbers = {5, 6, 5, 7, 8, 9, 10};
  std::vector<uint32_t> offsets = {0, 7};
  std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7};
  TableIds bags = OneBag(numbers, offsets, Combiner::kSum);
  bags.weights = weights;
  const auto plan = PlanOne(planner, bags);
  numbers.assign(numbers.size(), 0);
  offsets.assign(offsets.size(), 0);
  weights.assign(weights.size(), 0);
  const TableIds asked = plan->Sent();
  EXPECT_EQ(asked.table, kTable);
  EXPECT_EQ(asked.dim, 4u);
  EXPECT_EQ(asked.combiner, Combiner::kSum);
  EXPECT_EQ(std::vector<int64_t>(asked.ids.begin(), asked.ids.end()),
            (std::vector<int64_t>{5, 6, 5, 7, 8, 9, 10}));
  EXPECT_EQ(asked.bag_offsets[1], 7u);
  EXPECT_EQ(asked.weights[6], 7.0f);
  EXPECT_EQ(plan->unique.ids, (std::vector<int64_t>{5, 6, 7, 8, 9, 10}));
}

class SplittingService : public EmbeddingService {
 public:
  std::shared_ptr<const SlotOwners> Owners() const override { return owners_; }

 private:
  const std::shared_ptr<const SlotOwners> owners_ = SlotOwners::Even(3);
};

TEST(LookupPlanner, PlansManyLookupsInTheirOrder) {
  CallbackThreads threads;
  const SplittingService service;
  const LookupPlanner planner(&service, WireDtype::kFloat32, &threads);
  constexpr size_t kLookups = 30, kIds = 2000;
  std::vector<std::string> layers(kLookups);
  std::vector<std::vector<int64_t>> numbers(kLookups);
  std::vector<TableIds> ids(kLookups);
  std::vector<LookupPlanner::Ids> lookups;
  for (size_t i = 0; i < kLookups; ++i) {
    layers[i] = std::to_string(i);
    for (size_t n = 0; n < kIds; ++n) {
      numbers[i].push_back(static_cast<int64_t>(i * n % 777));
    }
    ids[i].table = i;
    ids[i].dim = 1;
    ids[i].ids = numbers[i];
    lookups.push_back({&layers[i], &ids[i]});
  }
  const auto plans = planner.Plan(lookups);
  ASSERT_EQ(plans.size(), kLookups);
  for (size_t i = 0; i < kLookups; ++i) {
    EXPECT_EQ(plans[i]->layer, layers[i]);
    EXPECT_EQ(plans[i]->table, i);
    const UniqueIds alone = Dedupe(numbers[i], service.Owners().get());
    EXPECT_EQ(plans[i]->unique.ids, alone.ids);
    EXPECT_EQ(plans[i]->unique.inverse, alone.inverse);
  }
}

}  // namespace
}  // namespace persia
