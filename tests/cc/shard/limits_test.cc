// A shard at its limits.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr uint64_t kLimit = 1 << 20;

// With and without a log of changes.
class ServiceLimitsTest : public ::testing::TestWithParam<bool> {
 protected:
  ServiceLimitsTest() { Open(); }

  void Open() {
    service_.reset();
    LocalServiceOptions options;
    options.limits = {kLimit, 2};
    options.events = &events_;
    if (GetParam()) options.recovery.journal.folder = folder_ / "recovery";
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
  }

  Status LookUp(const std::string& table, const Ids& ids) {
    Floats rows(ids.size() * kDim);
    LookupRequest request;
    request.tables = {{IdsOf(table, ids), rows}};
    return Call(service_.get(), &EmbeddingService::Lookup, &request);
  }

  Status Assign(const std::string& table, const Ids& ids) {
    const Floats weights(ids.size() * kDim, 2);
    AssignRequest request;
    request.table = HashName(table);
    request.dim = kDim;
    request.ids = ids;
    request.weights = weights;
    return Call(service_.get(), &EmbeddingService::Assign, &request);
  }

  Status MakeTable(const std::string& name, const std::string& eviction = "") {
    TableConfig config = MakeConfig(name, kDim, "uniform", "adagrad");
    if (!eviction.empty()) {
      config.eviction = SpecOf(eviction);
      config.capacity = SpecOf("rows(count=1000000)");
    }
    return Create(service_.get(), config);
  }

  const TemporaryFolder folder_;
  EventLog events_;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_P(ServiceLimitsTest, ARefusalNamesTheTableAndIsToldOnce) {
  ASSERT_TRUE(MakeTable("t").ok());
  for (int i = 0; i < 3; ++i) {
    const Status status = LookUp("t", Range(0, 100000));
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_EQ(status.message().substr(0, 51),
              "table \"t\": the memory limit of 1048576 bytes leaves");
  }
  std::vector<std::string> texts;
  while (auto event = events_.Take(Clock::now())) {
    if (event->level == EventLevel::kWarning) texts.push_back(event->text);
  }
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].substr(0, 19), "refused: table \"t\":");
}

TEST_P(ServiceLimitsTest, OtherRequestsGoOnAtTheLimit) {
  ASSERT_TRUE(MakeTable("t").ok());
  ASSERT_TRUE(LookUp("t", Range(0, 1000)).ok());
  ASSERT_FALSE(LookUp("t", Range(1000, 100000)).ok());
  ASSERT_FALSE(Assign("t", Range(100000, 200000)).ok());
  EXPECT_TRUE(LookUp("t", Range(0, 1000)).ok());
  UpdateCounts counts;
  EXPECT_TRUE(Step(service_.get(), "t", Range(0, 1000), Floats(1000 * kDim, 1),
                   7, 1, &counts)
                  .ok());
  EXPECT_EQ(counts.applied, 1000u);
  EXPECT_TRUE(Assign("t", Range(0, 1000)).ok());
  EXPECT_GE(RowsOf(service_.get(), "t").size(), 1000u);
}

TEST_P(ServiceLimitsTest, AFullShardComesBackWithItsRows) {
  if (!GetParam()) GTEST_SKIP() << "it does not come back";
  ASSERT_TRUE(MakeTable("t").ok());
  ASSERT_TRUE(MakeTable("u").ok());  // It would find no room later.
  ASSERT_FALSE(LookUp("t", Range(0, 100000)).ok());
  ASSERT_FALSE(Assign("t", Range(200000, 300000)).ok());
  ASSERT_FALSE(MakeTable("v").ok());
  const Rows held = RowsOf(service_.get(), "t");
  Open();
  EXPECT_EQ(RowsOf(service_.get(), "t"), held);
  EXPECT_FALSE(LookUp("t", Range(300000, 400000)).ok());
  EXPECT_TRUE(MakeTable("u").ok());
  EXPECT_FALSE(MakeTable("v").ok());
}

TEST_P(ServiceLimitsTest, ATableThatEvictsGoesOnAndComesBackTheSame) {
  ASSERT_TRUE(MakeTable("t", "lru").ok());
  for (int64_t at = 0; at < 60000; at += 500) {
    ASSERT_TRUE(LookUp("t", Range(at, at + 500)).ok()) << at;
    ASSERT_TRUE(Assign("t", Range(-at - 100, -at)).ok()) << at;
  }
  const Rows held = RowsOf(service_.get(), "t");
  EXPECT_LT(held.size(), 60000u);
  if (!GetParam()) return;
  Open();
  EXPECT_EQ(RowsOf(service_.get(), "t"), held);
}

INSTANTIATE_TEST_SUITE_P(All, ServiceLimitsTest, ::testing::Bool());

}  // namespace
}  // namespace persia
