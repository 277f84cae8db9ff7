#include "cc/pipeline/residuals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "cc/wire/vector_codec.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr TableKey kTable = 11;
constexpr uint32_t kDim = 3;

// What a server decodes of `vectors`.
Floats Decoded(const Floats& vectors, uint32_t dim = kDim) {
  const VectorPlaces all{vectors.size() / dim, 0, nullptr};
  std::vector<uint64_t> words(PaddedBytes(WireDtype::kInt4, all.count, dim) /
                              8);
  auto* const bytes = reinterpret_cast<uint8_t*>(words.data());
  EncodeVectors(WireDtype::kInt4, VectorKind::kGradients, vectors.data(), all,
                dim, bytes);
  Floats decoded(vectors.size());
  DecodeVectors(
      {WireDtype::kInt4,
       ConstBytes(bytes, EncodedBytes(WireDtype::kInt4, all.count, dim))},
      all, dim, decoded.data());
  return decoded;
}

// Gradients that lose something.
Floats SomeGradients(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats gradients(count * kDim);
  for (float& number : gradients) number = normal(random);
  return gradients;
}

// An update of kTable.
struct Update {
  Update(Residuals* residuals, Ids of, Floats given)
      : ids(std::move(of)),
        gradients(std::move(given)),
        sums(gradients.size()) {
    era = residuals->FeedBack(Of(), sums);
  }

  Residuals::Gradients Of() const {
    return {kTable, kDim, ids, gradients, sums};
  }
  void TakeBack(Residuals* residuals, const std::vector<uint32_t>& delivered) {
    residuals->TakeBack(Of(), delivered, era);
  }

  Ids ids;
  Floats gradients;
  Floats sums;
  uint64_t era;
};

std::map<int64_t, Floats> AllOf(const Residuals& residuals) {
  std::map<int64_t, Floats> all;
  for (const TableResiduals& table : residuals.Save()) {
    EXPECT_EQ(table.table, kTable);
    EXPECT_EQ(table.dim, kDim);
    for (size_t i = 0; i < table.ids.size(); ++i) {
      const float* const from = &table.values[i * kDim];
      EXPECT_TRUE(all.emplace(table.ids[i], Floats(from, from + kDim)).second);
    }
  }
  return all;
}

void ExpectNear(const Floats& got, const Floats& meant) {
  ASSERT_EQ(got.size(), meant.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], meant[i], 1e-5f);
}

Floats Sum(const Floats& a, const Floats& b) {
  Floats sum;
  for (size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
  return sum;
}

TEST(ResidualsTest, KeepWhatWasLostForTheNextGradient) {
  Residuals residuals(100);
  const Update first(&residuals, {5, -6}, SomeGradients(2, 1));
  EXPECT_EQ(first.sums, first.gradients);
  const Floats sent = Decoded(first.sums);
  auto kept = AllOf(residuals);
  ExpectNear(Sum(kept[5], {sent[0], sent[1], sent[2]}),
             {first.sums[0], first.sums[1], first.sums[2]});
  // Ids in another order, and a new one.
  const Update second(&residuals, {7, 5}, SomeGradients(2, 2));
  const Floats& given = second.gradients;
  EXPECT_EQ(Floats(second.sums.begin(), second.sums.begin() + kDim),
            Floats(given.begin(), given.begin() + kDim));
  EXPECT_EQ(Floats(second.sums.begin() + kDim, second.sums.end()),
            Sum(kept[5], {given[3], given[4], given[5]}));
  EXPECT_EQ(AllOf(residuals)[-6], kept[-6]);
  EXPECT_EQ(residuals.rows(), 3u);
  EXPECT_EQ(residuals.dropped(), 0u);
}

TEST(ResidualsTest, OfManyIdsFollowTheirSums) {
  Residuals residuals(1 << 20);
  Ids ids(20000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = 7919 * static_cast<int>(i);
  Floats given(ids.size() * kDim), sent(given.size());
  for (uint32_t step = 0; step < 5; ++step) {
    const Update update(&residuals, ids, SomeGradients(ids.size(), step));
    given = Sum(given, update.gradients);
    sent = Sum(sent, Decoded(update.sums));
  }
  auto kept = AllOf(residuals);
  ASSERT_EQ(kept.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t d = 0; d < kDim; ++d) {
      const size_t at = i * kDim + d;
      ASSERT_NEAR(sent[at] + kept[ids[i]][d], given[at], 1e-5f);
    }
  }
}

TEST(ResidualsTest, WhatWasNotDeliveredIsTakenBack) {
  Residuals residuals(100);
  Update first(&residuals, {1, 2, 3}, SomeGradients(3, 1));
  const auto before = AllOf(residuals);
  Update failed(&residuals, {3, 1, 2}, SomeGradients(3, 2));
  const auto after = AllOf(residuals);
  failed.TakeBack(&residuals, {1});
  auto now = AllOf(residuals);
  ExpectNear(now[3], before.at(3));
  EXPECT_EQ(now[1], after.at(1));
  ExpectNear(now[2], before.at(2));
}

TEST(ResidualsTest, ALaterUpdateCountsThoughAnEarlierOneFails) {
  Residuals residuals(100);
  Update failed(&residuals, {1}, SomeGradients(1, 1));
  Update later(&residuals, {1}, SomeGradients(1, 2));
  failed.TakeBack(&residuals, {});
  // All that was ever delivered, and what is kept, are the later gradient.
  ExpectNear(Sum(Decoded(later.sums), AllOf(residuals)[1]), later.gradients);
}

TEST(ResidualsTest, AGradientThatIsNotFiniteLeavesItsResidualAlone) {
  Residuals residuals(100);
  const Update first(&residuals, {1, 2}, SomeGradients(2, 1));
  const auto before = AllOf(residuals);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    Update update(&residuals, {1, 2}, {1, bad, 0, 1, 2, 3});
    for (size_t d = 0; d < kDim; ++d) {
      EXPECT_TRUE(std::isnan(Decoded(update.sums)[d]));
    }
    EXPECT_EQ(AllOf(residuals)[1], before.at(1));
    EXPECT_NE(AllOf(residuals)[2], before.at(2));
    update.TakeBack(&residuals, {});
    EXPECT_EQ(AllOf(residuals)[1], before.at(1));
    ExpectNear(AllOf(residuals)[2], before.at(2));
  }
}

TEST(ResidualsTest, BeyondTheLimitIdsThatDoNotRecurAreDropped) {
  Residuals residuals(10);
  for (int64_t id = 0; id < 50; ++id) {
    const Update update(&residuals, {1000, id}, SomeGradients(2, 1));
  }
  EXPECT_EQ(residuals.rows(), 10u);
  EXPECT_EQ(residuals.dropped(), 41u);
  const auto kept = AllOf(residuals);
  EXPECT_EQ(kept.count(1000), 1u);
  EXPECT_EQ(kept.count(49), 1u);
}

TEST(ResidualsTest, AnUpdateMayHaveMoreIdsThanTheLimit) {
  Residuals residuals(10);
  Ids ids(100);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  Update update(&residuals, ids, SomeGradients(100, 1));
  EXPECT_EQ(residuals.rows(), 10u);
  update.TakeBack(&residuals, {});
  for (const auto& [id, residual] : AllOf(residuals)) {
    ExpectNear(residual, Floats(kDim, 0));
  }
}

TEST(ResidualsTest, AreForgottenByIdTableAndAtOnce) {
  Residuals residuals(100);
  Update update(&residuals, {1, 2}, SomeGradients(2, 1));
  residuals.Forget(kTable, Ids{1, 9});
  residuals.Forget(kTable + 1, Ids{1});
  EXPECT_EQ(AllOf(residuals).count(1), 0u);
  EXPECT_EQ(AllOf(residuals).count(2), 1u);
  // A failure does not bring it back.
  update.TakeBack(&residuals, {});
  EXPECT_EQ(AllOf(residuals).count(1), 0u);
  residuals.ForgetTable(kTable);
  EXPECT_TRUE(AllOf(residuals).empty());
  Update other(&residuals, {1, 2}, SomeGradients(2, 1));
  residuals.Clear();
  EXPECT_TRUE(AllOf(residuals).empty());
  const Update newer(&residuals, {1, 2}, SomeGradients(2, 3));
  const auto before = AllOf(residuals);
  other.TakeBack(&residuals, {});  // Of residuals that are gone.
  EXPECT_EQ(AllOf(residuals), before);
}

TEST(ResidualsTest, AreSavedAndRestored) {
  Residuals residuals(100), other(100);
  const Update update(&residuals, {1, 2}, SomeGradients(2, 1));
  const Update old(&other, {3}, SomeGradients(1, 2));
  other.Restore(residuals.Save());
  EXPECT_EQ(AllOf(other), AllOf(residuals));
  const Update next(&residuals, {2, 4}, SomeGradients(2, 3));
  const Update same(&other, {2, 4}, SomeGradients(2, 3));
  EXPECT_EQ(next.sums, same.sums);
}

TEST(ResidualsTest, ThreadsMayShareIds) {
  Residuals residuals(100);
  constexpr size_t kThreads = 4, kSteps = 200;
  std::vector<Floats> sent(kThreads, Floats(2 * kDim));
  std::vector<Floats> given = sent;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t step = 0; step < kSteps; ++step) {
        Update update(&residuals, {1, 2},
                      SomeGradients(2, static_cast<uint32_t>(t * 1000 + step)));
        if (step % 5 == 0) {
          update.TakeBack(&residuals, {});
          continue;
        }
        sent[t] = Sum(sent[t], Decoded(update.sums));
        given[t] = Sum(given[t], update.gradients);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto kept = AllOf(residuals);
  Floats rest = kept[1];
  rest.insert(rest.end(), kept[2].begin(), kept[2].end());
  Floats all(2 * kDim), meant(2 * kDim);
  for (size_t t = 0; t < kThreads; ++t) {
    all = Sum(all, sent[t]);
    meant = Sum(meant, given[t]);
  }
  all = Sum(all, rest);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], meant[i], 1e-2f);
}

}  // namespace
}  // namespace persia
