#include "cc/store/table_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

void ExpectRefused(const TableConfig& config, const std::string& message) {
  const Status status = config.Validate();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), message);
}

TEST(TableConfigValidate, AcceptsTheEndsOfTheRanges) {
  TableConfig config = MakeConfig(std::string(kMaxTableNameBytes, 'x'), 1);
  EXPECT_TRUE(config.Validate().ok());
  config.dim = kMaxDim;
  EXPECT_TRUE(config.Validate().ok());
}

TEST(TableConfigValidate, RefusesAnEmptyName) {
  ExpectRefused(MakeConfig("", 1),
                "table name must not be empty, received \"\"");
}

TEST(TableConfigValidate, RefusesALongName) {
  ExpectRefused(MakeConfig(std::string(kMaxTableNameBytes + 1, 'x'), 1),
                "table name must have at most 1024 bytes, received 1025");
}

// Names are shown in errors, logs and metrics.
TEST(TableConfigValidate, RefusesANameThatIsNoPlainText) {
  ExpectRefused(MakeConfig("a\xff\n", 1),
                "table name must be UTF-8 without control characters, received "
                "\"a\\xff\\x0a\"");
  EXPECT_TRUE(MakeConfig("gr\xc3\xb6\xc3\x9f", 1).Validate().ok());
}

TEST(TableConfigValidate, RefusesNoWeights) {
  ExpectRefused(MakeConfig("t", 0),
                "output_dim must be at least 1, received 0");
}

TEST(TableConfigValidate, RefusesTooManyWeights) {
  ExpectRefused(MakeConfig("t", kMaxDim + 1),
                "output_dim must be at most 65536, received 65537");
}

TEST(TableConfigValidate, RefusesADefaultThatIsNotFinite) {
  TableConfig config = MakeConfig("t", 1);
  config.default_value = INFINITY;
  ExpectRefused(config, "default_value must be finite, received inf");
}

TEST(TableConfigValidate, RefusesAnUnknownRule) {
  EXPECT_FALSE(MakeConfig("t", 1, "magic", "sgd").Validate().ok());
  EXPECT_FALSE(MakeConfig("t", 1, "zeros", "magic").Validate().ok());
}

TEST(TableConfigValidate, RefusesAnUnknownChoice) {
  const std::pair<Spec TableConfig::*, const char*> settings[] = {
      {&TableConfig::row_dtype,
       "row_dtype must be float32, bfloat16, float16 or int8, received "
       "\"magic\""},
      {&TableConfig::capacity,
       "capacity must be unlimited, rows or bytes, received \"magic\""},
      {&TableConfig::admission,
       "admission must be always, min_count, bloom_min_count or probability, "
       "received \"magic\""},
      {&TableConfig::eviction,
       "eviction must be never, lru, lfu or ttl, received \"magic\""}};
  for (const auto& [setting, message] : settings) {
    TableConfig config = MakeConfig("t", 1);
    config.*setting = SpecOf("magic");
    ExpectRefused(config, message);
  }
}

TEST(TableConfigValidate, RefusesACapacityThatNothingKeeps) {
  TableConfig config = MakeConfig("t", 1);
  config.capacity = SpecOf("rows(count=5)");
  ExpectRefused(config,
                "eviction must be lru, lfu or ttl where capacity is "
                "rows(count=5), received never");
}

TEST(TableConfigValidate, RefusesToEvictBeyondNoCapacity) {
  for (const std::string eviction : {"lru", "lfu"}) {
    TableConfig config = MakeConfig("t", 1);
    config.eviction = SpecOf(eviction);
    ExpectRefused(config, "capacity must be given where eviction is " +
                              eviction + ", received unlimited");
  }
}

TEST(TableConfigValidate, AcceptsEveryPairOfCapacityAndEviction) {
  for (const char* capacity : {"rows(count=1)", "bytes(count=1)"}) {
    for (const char* eviction :
         {"lru", "lfu", "ttl(steps=1)", "ttl(seconds=1)"}) {
      TableConfig config = MakeConfig("t", 1);
      config.capacity = SpecOf(capacity);
      config.eviction = SpecOf(eviction);
      EXPECT_TRUE(config.Validate().ok()) << capacity << eviction;
    }
  }
  TableConfig config = MakeConfig("t", 1);
  config.eviction = SpecOf("ttl(steps=1)");
  EXPECT_TRUE(config.Validate().ok());
}

TEST(TableConfigDescribe, ShowsAllSettingsButTheName) {
  TableConfig config =
      MakeConfig("items", 8, "uniform(minval=-0.1,maxval=0.1)", "adagrad");
  config.row_dtype = SpecOf("int8");
  config.capacity = SpecOf("rows(count=9)");
  config.admission = SpecOf("probability(p=0.5)");
  config.eviction = SpecOf("ttl(steps=3)");
  config.seed = 7;
  config.default_value = 0.1f;
  EXPECT_EQ(
      config.Describe(),
      "output_dim=8, embeddings_initializer=uniform(maxval=0.1,minval=-0.1), "
      "optimizer=adagrad, row_dtype=int8, capacity=rows(count=9), "
      "admission=probability(p=0.5), eviction=ttl(steps=3), seed=7, "
      "default_value=0.1");
}

TEST(TableConfigDescribe, LeavesOutWhatNobodyChose) {
  TableConfig config = MakeConfig("items", 8, "zeros", "sgd");
  EXPECT_EQ(config.DescribeChosen(),
            "output_dim=8, embeddings_initializer=zeros, optimizer=sgd");
  config.row_dtype = SpecOf("int8");
  EXPECT_EQ(config.DescribeChosen(),
            "output_dim=8, embeddings_initializer=zeros, optimizer=sgd, "
            "row_dtype=int8");
}

}  // namespace
}  // namespace persia
