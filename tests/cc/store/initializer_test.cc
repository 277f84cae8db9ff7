#include "cc/store/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace persia {
namespace {

Result<std::unique_ptr<Initializer>> InitializerOf(const std::string& text) {
  const Result<Spec> spec = Spec::Parse(text);
  if (!spec.ok()) return spec.status();
  return MakeInitializer(*spec);
}

std::vector<float> RowOf(const std::string& text, int64_t id, size_t dim,
                         uint64_t table_seed = 1) {
  std::vector<float> row(dim);
  InitializerOf(text).value()->Fill(table_seed, id, row.data(), dim);
  return row;
}

// Weights of 5,000 rows of 20.
std::vector<float> Sample(const std::string& text) {
  std::vector<float> sample;
  const auto initializer = InitializerOf(text);
  for (int64_t id = -2500; id < 2500; ++id) {
    float row[20];
    initializer.value()->Fill(1, id, row, 20);
    sample.insert(sample.end(), row, row + 20);
  }
  return sample;
}

// The mean of (x - `center`)^`power`.
double Moment(const std::vector<float>& sample, double center, int power) {
  double sum = 0;
  for (const float x : sample) sum += std::pow(x - center, power);
  return sum / static_cast<double>(sample.size());
}

void ExpectWithin(const std::vector<float>& sample, float low, float high) {
  EXPECT_GE(*std::min_element(sample.begin(), sample.end()), low);
  EXPECT_LE(*std::max_element(sample.begin(), sample.end()), high);
}

constexpr const char* kRandom[] = {"uniform", "normal", "truncated_normal",
                                   "glorot_uniform"};

TEST(Initializer, GivesTheSameRowInAnyOrder) {
  for (const char* text : kRandom) {
    const auto initializer = InitializerOf(text);
    ASSERT_TRUE(initializer.ok());
    std::vector<float> up, down(20 * 3);
    for (int64_t id = 0; id < 20; ++id) {
      float row[3];
      (*initializer)->Fill(5, id, row, 3);
      up.insert(up.end(), row, row + 3);
    }
    for (int64_t id = 19; id >= 0; --id) {
      (*initializer)->Fill(5, id, down.data() + id * 3, 3);
    }
    EXPECT_EQ(up, down) << text;
  }
}

// The next version must give the same initial rows to programs that go on.
TEST(Initializer, NeverChanges) {
  const uint64_t seed = TableSeed("items", 42);
  EXPECT_EQ(seed, 0x440b0cf4a55cb8b8ull);
  EXPECT_EQ(RowOf("uniform", 7, 2, seed),
            (std::vector<float>{0.0234913453f, 0.0453814864f}));
  // These depend on the C library's log, sin and cos.
  const std::vector<float> normal = RowOf("normal", -7, 2, seed);
  EXPECT_FLOAT_EQ(normal[0], -0.129269987f);
  EXPECT_FLOAT_EQ(normal[1], 0.0441013128f);
}

TEST(Initializer, GivesOtherRowsToOtherIds) {
  for (const char* text : kRandom) {
    std::set<std::vector<float>> rows;
    for (int64_t id = -500; id < 500; ++id) rows.insert(RowOf(text, id, 2));
    EXPECT_EQ(rows.size(), 1000u) << text;
  }
}

TEST(Initializer, GivesOtherRowsToOtherTables) {
  for (const char* text : kRandom) {
    EXPECT_NE(RowOf(text, 3, 4, TableSeed("a", 0)),
              RowOf(text, 3, 4, TableSeed("b", 0)))
        << text;
  }
}

TEST(Initializer, DrawsNeighbouringIdsIndependently) {
  const auto uniform = InitializerOf("uniform(minval=-1,maxval=1)");
  ASSERT_TRUE(uniform.ok());
  constexpr int kIds = 20000;
  double products = 0;
  float before = 0;
  for (int64_t id = 0; id < kIds; ++id) {
    float weight;
    (*uniform)->Fill(9, id, &weight, 1);
    products += before * weight;
    before = weight;
  }
  EXPECT_NEAR(products / kIds, 0, 0.01);  // Standard error: 0.0024.
}

TEST(TableSeed, DependsOnNameAndSeed) {
  EXPECT_EQ(TableSeed("a", 1), TableSeed("a", 1));
  EXPECT_NE(TableSeed("a", 1), TableSeed("a", 2));
  EXPECT_NE(TableSeed("a", 1), TableSeed("b", 1));
}

TEST(Constant, FillsEveryWeight) {
  EXPECT_EQ(RowOf("zeros", 5, 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(RowOf("ones", 5, 3), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(RowOf("constant(value=-2.5)", 5, 2),
            (std::vector<float>{-2.5f, -2.5f}));
}

TEST(Uniform, StaysInItsBounds) {
  const std::vector<float> sample = Sample("uniform(minval=1,maxval=3)");
  ExpectWithin(sample, 1, 3);
  EXPECT_NEAR(Moment(sample, 0, 1), 2, 0.02);
  EXPECT_NEAR(Moment(sample, 2, 2), 1.0 / 3, 0.01);
}

TEST(Uniform, HasTheDefaultsOfKeras) {
  const std::vector<float> sample = Sample("uniform");
  ExpectWithin(sample, -0.05f, 0.05f);
  EXPECT_NEAR(Moment(sample, 0, 2), 0.05 * 0.05 / 3, 2e-5);
}

TEST(Normal, HasItsMoments) {
  const std::vector<float> sample = Sample("normal(mean=1,stddev=2)");
  EXPECT_NEAR(Moment(sample, 0, 1), 1, 0.03);
  EXPECT_NEAR(Moment(sample, 1, 2), 4, 0.1);
  EXPECT_NEAR(Moment(sample, 1, 3), 0, 0.5);
  EXPECT_NEAR(Moment(sample, 1, 4), 48, 2.5);
}

TEST(Normal, HasTheDefaultsOfKeras) {
  const std::vector<float> sample = Sample("normal");
  EXPECT_NEAR(Moment(sample, 0, 1), 0, 1e-3);
  EXPECT_NEAR(Moment(sample, 0, 2), 0.05 * 0.05, 5e-5);
}

TEST(TruncatedNormal, StaysWithinTwoDeviations) {
  const std::vector<float> sample = Sample("truncated_normal(mean=1,stddev=2)");
  ExpectWithin(sample, -3, 5);
  EXPECT_GT(*std::max_element(sample.begin(), sample.end()), 4.9f);
  EXPECT_NEAR(Moment(sample, 0, 1), 1, 0.03);
  // A normal cut off at two deviations has 0.7737 of the variance.
  EXPECT_NEAR(Moment(sample, 1, 2), 4 * 0.7737, 0.06);
}

TEST(GlorotUniform, IsBoundedByTheRowsFans) {
  const std::vector<float> sample = Sample("glorot_uniform");
  const auto limit = static_cast<float>(std::sqrt(6.0 / 21));
  ExpectWithin(sample, -limit, limit);
  EXPECT_GT(*std::max_element(sample.begin(), sample.end()), 0.99f * limit);
}

// An initializer, and the whole error message that it gives.
using BadInitializer = std::pair<const char*, const char*>;
class MakeInitializerRefuses : public ::testing::TestWithParam<BadInitializer> {
};

TEST_P(MakeInitializerRefuses, SayingParameterRuleAndValue) {
  const auto [text, message] = GetParam();
  const auto initializer = InitializerOf(text);
  ASSERT_FALSE(initializer.ok()) << text;
  EXPECT_EQ(initializer.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(initializer.status().message(), message);
}

INSTANTIATE_TEST_SUITE_P(
    BadInitializers, MakeInitializerRefuses,
    ::testing::Values(
        BadInitializer("orthogonal",
                       "initializer must be zeros, ones, constant, uniform, "
                       "normal, truncated_normal or glorot_uniform, received "
                       "\"orthogonal\""),
        BadInitializer("zeros(value=1)",
                       "initializer zeros has no parameter value; it has none"),
        BadInitializer("uniform(low=1)",
                       "initializer uniform has no parameter low; it has "
                       "minval, maxval"),
        BadInitializer("uniform(minval=2,maxval=1)",
                       "initializer uniform: minval must be at most maxval, "
                       "which is 1, received 2"),
        BadInitializer("normal(stddev=-1)",
                       "initializer normal: stddev must be between 0 and "
                       "1e+30, received -1"),
        BadInitializer("constant(value=1e31)",
                       "initializer constant: value must be between -1e+30 "
                       "and 1e+30, received 1e+31")));

}  // namespace
}  // namespace persia
