#include "cc/serving/outage_service.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/serving/remote_lookups.h"

namespace persia {
namespace {

class OutageServiceTest : public ::testing::Test {
 protected:
  void Make(bool gives_zeros) {
    service_ =
        std::make_unique<OutageService>(MakeFakeService(control_), gives_zeros);
  }

  // Runs `lookup` (of {1, 2}), which the service within ends with `status`.
  void Fail(ServiceLookup* lookup, const Status& status) {
    control_->HoldLookups(true);
    lookup->Start(service_.get());
    control_->CompleteLookup(status);
    lookup->Wait();
    control_->ReleaseAll();
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::unique_ptr<OutageService> service_;
  ServiceLookup lookup_{Ids{1, 2}};
};

TEST_F(OutageServiceTest, AnOutageFailsTheLookup) {
  Make(/*gives_zeros=*/false);
  Fail(&lookup_, Status(Code::kUnavailable, "shard 1 is away"));
  EXPECT_EQ(lookup_.status().message(), "shard 1 is away");
  EXPECT_FALSE(lookup_.request.zeros_for_outages);
  EXPECT_EQ(service_->failures(), 1u);
  EXPECT_EQ(service_->zeros(), 0u);
}

TEST_F(OutageServiceTest, AnOutageGivesZeros) {
  Make(/*gives_zeros=*/true);
  control_->SetGeneration(3);
  ServiceLookup first({1});
  EXPECT_EQ(first.Start(service_.get()).rows(), FakeRows({1}));
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded}) {
    ServiceLookup lookup({1, 2});
    control_->SetGeneration(0);
    Fail(&lookup, Status(code, "shard 1 is away"));
    EXPECT_EQ(lookup.rows(), (Floats{0, 0, 0, 0}));
    EXPECT_TRUE(lookup.request.zeros_for_outages);
    EXPECT_EQ(lookup.request.tables[0].unanswered,
              (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(lookup.request.generation, 3u);
  }
  EXPECT_EQ(service_->failures(), 2u);
  EXPECT_EQ(service_->zeros(), 4u);
}

TEST_F(OutageServiceTest, ARefusalIsNoOutage) {
  Make(/*gives_zeros=*/true);
  Fail(&lookup_, Status(Code::kNotFound, "no such table"));
  EXPECT_EQ(lookup_.status().code(), Code::kNotFound);
  EXPECT_EQ(service_->failures(), 1u);
  EXPECT_EQ(service_->zeros(), 0u);
}

}  // namespace
}  // namespace persia
