#include "cc/pipeline/lookup_gatherer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/cc/pipeline/steps.h"
#include "tests/cc/pipeline/wait.h"

namespace persia {
namespace {

// Longer than any test: a group is sent because of its size, or when the
// gatherer stops.
constexpr double kForEver = 3600;

class LookupGathererTest : public testing::Test {
 protected:
  void Make(double linger_seconds) {
    gatherer_.emplace(/*read_only=*/false, linger_seconds,
                      [this](const std::shared_ptr<FusedLookup>& group) {
                        std::lock_guard<std::mutex> lock(mutex_);
                        sent_.push_back(group->size());
                        changed_.notify_all();
                      });
  }

  std::shared_ptr<Lookup> Add(const std::string& layer) {
    auto lookup = std::make_shared<Lookup>(MakePlan(layer, 1, 1, {5}));
    gatherer_->Add(lookup);
    return lookup;
  }

  // Does what an op does once the rows are there.
  static void CopyRows(const std::shared_ptr<Lookup>& lookup) {
    const std::vector<float> row{5};
    std::vector<float> batch(1);
    EXPECT_TRUE(lookup->Complete(Status(), row, nullptr).empty());
    lookup->CopyRows(batch);
  }

  // Sizes of the groups so far, once there are `count`.
  std::vector<size_t> WaitForGroups(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    WaitUntil(&lock, &changed_, "groups",
              [&] { return sent_.size() >= count; });
    return sent_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> sent_;  // Guarded by mutex_.
  std::optional<LookupGatherer> gatherer_;
};

TEST_F(LookupGathererTest, SendsAfterAMomentWhileTheSizeIsUnknown) {
  Make(0.001);
  CopyRows(Add("a"));
  EXPECT_EQ(WaitForGroups(1), (std::vector<size_t>{1}));
}

TEST_F(LookupGathererTest, SendsAGroupOnceItIsAsLargeAsTheLast) {
  Make(0.2);
  for (const char* layer : {"a", "b", "c"}) CopyRows(Add(layer));
  ASSERT_EQ(WaitForGroups(1), (std::vector<size_t>{3}));
  // Now the size of the group is known, so the last Add sends on its own
  // thread.
  for (const char* layer : {"a", "b", "c"}) CopyRows(Add(layer));
  EXPECT_EQ(sent_, (std::vector<size_t>{3, 3}));
}

TEST_F(LookupGathererTest, GroupsAreKnownByTheirFirstLayer) {
  Make(0.2);
  for (const char* layer : {"a", "b"}) CopyRows(Add(layer));
  ASSERT_EQ(WaitForGroups(1).size(), 1u);
  CopyRows(Add("other"));
  ASSERT_EQ(WaitForGroups(2).size(), 2u);
  for (const char* layer : {"a", "b", "other"}) CopyRows(Add(layer));
  EXPECT_EQ(sent_, (std::vector<size_t>{2, 1, 2, 1}));
}

TEST_F(LookupGathererTest, LearnsAgainWhenAGroupWasTooSmall) {
  Make(0.2);
  CopyRows(Add("a"));
  ASSERT_EQ(WaitForGroups(1), (std::vector<size_t>{1}));
  const auto a = Add("a");  // Sent by size.
  const auto b = Add("b");  // Same group: the rows of "a" are unused.
  ASSERT_EQ(WaitForGroups(3), (std::vector<size_t>{1, 1, 1}));
  CopyRows(a);
  CopyRows(b);
  for (const char* layer : {"a", "b"}) CopyRows(Add(layer));
  EXPECT_EQ(WaitForGroups(4), (std::vector<size_t>{1, 1, 1, 2}));
}

TEST_F(LookupGathererTest, WithoutAMomentEveryLookupLeavesAlone) {
  Make(0);
  Add("a");
  Add("b");
  EXPECT_EQ(sent_, (std::vector<size_t>{1, 1}));
}

TEST_F(LookupGathererTest, StopSendsWhatIsGathered) {
  Make(kForEver);
  Add("a");
  Add("b");
  EXPECT_TRUE(sent_.empty());
  gatherer_->Stop();
  EXPECT_EQ(sent_, (std::vector<size_t>{2}));
}

}  // namespace
}  // namespace persia
