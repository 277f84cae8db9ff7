#include "cc/service/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace persia {
namespace {

using Floats = std::vector<float>;

// Bags {7, 8, 7}, {} and {8} of rows of one weight.
struct Bags {
  std::vector<int64_t> ids;
  std::vector<uint32_t> offsets;
  Floats weights;

  Bags() : ids({7, 8, 7, 8}), offsets({0, 3, 3, 4}), weights({1, 2, 3, 4}) {}

  TableIds table_ids(Combiner combiner) const {
    TableIds bags;
    bags.dim = 1;
    bags.ids = ids;
    bags.combiner = combiner;
    bags.bag_offsets = offsets;
    bags.weights = weights;
    return bags;
  }
};

// Rows of ids 7 and 8 are 10 and 100.
Floats Pooled(const Bags& bags, Combiner combiner) {
  BagPooler pooler;
  pooler.Build(bags.table_ids(combiner));
  Floats vectors(bags.offsets.size() - 1, -77.0f);
  pooler.Pool(Floats{10, 100}, vectors);
  return vectors;
}

// Gradients of the three vectors are 1, 50 and 3.
Floats Unpooled(const Bags& bags, Combiner combiner) {
  BagPooler pooler;
  pooler.Build(bags.table_ids(combiner));
  Floats rows(2, -77.0f);
  pooler.Unpool(Floats{1, 50, 3}, rows);
  return rows;
}

void ExpectNear(const Floats& values, const Floats& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-5 * std::abs(expected[i])) << i;
  }
}

TEST(BagPooler, FindsUniqueIdsInOrderOfAppearance) {
  Bags bags;
  bags.ids = {8, -7, 8, -7};
  BagPooler pooler;
  pooler.Build(bags.table_ids(Combiner::kSum));
  const Span<const int64_t> unique = pooler.unique_ids();
  EXPECT_EQ(std::vector<int64_t>(unique.begin(), unique.end()),
            (std::vector<int64_t>{8, -7}));
}

TEST(BagPooler, Sums) {
  ExpectNear(Pooled(Bags(), Combiner::kSum), {10 + 200 + 30, 0, 400});
  ExpectNear(Unpooled(Bags(), Combiner::kSum), {1 + 3, 2 + 12});
}

TEST(BagPooler, DividesAMeanByTheWeights) {
  ExpectNear(Pooled(Bags(), Combiner::kMean), {240 / 6.0f, 0, 100});
  ExpectNear(Unpooled(Bags(), Combiner::kMean), {4 / 6.0f, 2 / 6.0f + 3});
}

TEST(BagPooler, DividesSqrtNByTheRootOfSquaredWeights) {
  const float root = std::sqrt(14.0f);
  ExpectNear(Pooled(Bags(), Combiner::kSqrtN), {240 / root, 0, 100});
  ExpectNear(Unpooled(Bags(), Combiner::kSqrtN), {4 / root, 2 / root + 3});
}

TEST(BagPooler, TakesNoWeightsAsOnes) {
  Bags bags;
  bags.weights.clear();
  ExpectNear(Pooled(bags, Combiner::kSum), {120, 0, 100});
  ExpectNear(Pooled(bags, Combiner::kMean), {40, 0, 100});
  ExpectNear(Pooled(bags, Combiner::kSqrtN), {120 / std::sqrt(3.0f), 0, 100});
}

TEST(BagPooler, RoundsADivisionOnceABag) {
  Bags bags;
  bags.ids = {7, 8, 7, 7, 7, 7, 7};
  bags.offsets = {0, 7};
  bags.weights.clear();
  EXPECT_EQ(Pooled(bags, Combiner::kMean), Floats{160 / 7.0f});
}

TEST(BagPooler, GivesZeroWhereItWouldDivideByZero) {
  Bags bags;
  bags.weights = {1, -2, 1, 0};
  EXPECT_EQ(Pooled(bags, Combiner::kMean), (Floats{0, 0, 0}));
  EXPECT_EQ(Unpooled(bags, Combiner::kMean), (Floats{0, 0}));
}

TEST(BagPooler, AddsNothingOfARowWhoseWeightIsZero) {
  Bags bags;
  bags.weights = {1, 0, 1, 1};
  BagPooler pooler;
  pooler.Build(bags.table_ids(Combiner::kSum));
  Floats vectors(3);
  pooler.Pool(Floats{10, INFINITY}, vectors);
  EXPECT_EQ(vectors, (Floats{20, 0, INFINITY}));
  Floats rows(2);
  pooler.Unpool(Floats{NAN, 0, 3}, rows);
  EXPECT_TRUE(std::isnan(rows[0]));
  EXPECT_EQ(rows[1], 3);
}

TEST(BagPooler, ForgetsTheBagsBefore) {
  BagPooler pooler;
  const Bags first;
  pooler.Build(first.table_ids(Combiner::kSum));
  Bags second;
  second.ids = {9};
  second.offsets = {0, 1};
  second.weights = {2};
  pooler.Build(second.table_ids(Combiner::kSum));
  ASSERT_EQ(pooler.unique_ids().size(), 1u);
  Floats vectors(1);
  pooler.Pool(Floats{5}, vectors);
  EXPECT_EQ(vectors, Floats{10});
}

TEST(BagPooler, PoolsEveryWeightOfARow) {
  const std::vector<int64_t> ids = {1, 2};
  const std::vector<uint32_t> offsets = {0, 2};
  TableIds bags;
  bags.dim = 3;
  bags.ids = ids;
  bags.combiner = Combiner::kSum;
  bags.bag_offsets = offsets;
  BagPooler pooler;
  pooler.Build(bags);
  Floats vectors(3);
  pooler.Pool(Floats{1, 2, 3, 10, 20, 30}, vectors);
  EXPECT_EQ(vectors, (Floats{11, 22, 33}));
}

void ExpectBadBags(const TableIds& ids, const std::string& message) {
  const Status status = CheckBags(ids);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

TEST(CheckBags, AcceptsBagsAndNoBags) {
  const Bags bags;
  EXPECT_TRUE(CheckBags(bags.table_ids(Combiner::kMean)).ok());
  TableIds ids;
  ids.ids = bags.ids;
  EXPECT_TRUE(CheckBags(ids).ok());
}

TEST(CheckBags, RefusesAnUnknownCombiner) {
  const Bags bags;
  ExpectBadBags(bags.table_ids(static_cast<Combiner>(4)),
                "combiner must be 0 to 3, received 4");
}

TEST(CheckBags, RefusesBagsWithoutACombiner) {
  const Bags bags;
  ExpectBadBags(bags.table_ids(Combiner::kNone),
                "bag_offsets and weights must be empty without a combiner, "
                "received 4 and 4");
}

TEST(CheckBags, RefusesNoOffsets) {
  Bags bags;
  bags.offsets.clear();
  ExpectBadBags(bags.table_ids(Combiner::kSum),
                "bag_offsets must begin with 0 and end with the number of ids, "
                "4, received none");
}

TEST(CheckBags, RefusesOffsetsThatDoNotCoverTheIds) {
  Bags bags;
  bags.offsets = {0, 3};
  ExpectBadBags(bags.table_ids(Combiner::kSum),
                "bag_offsets must begin with 0 and end with the number of ids, "
                "4, received 0 to 3");
  bags.offsets = {1, 4};
  EXPECT_FALSE(CheckBags(bags.table_ids(Combiner::kSum)).ok());
}

TEST(CheckBags, RefusesOffsetsThatFall) {
  Bags bags;
  bags.offsets = {0, 5, 3, 4};
  ExpectBadBags(bags.table_ids(Combiner::kSum),
                "bag_offsets must not decrease");
}

TEST(CheckBags, RefusesAnotherNumberOfWeights) {
  Bags bags;
  bags.weights = {1};
  ExpectBadBags(bags.table_ids(Combiner::kSum),
                "weights must be empty or one per id, 4, received 1");
}

}  // namespace
}  // namespace persia
