#include "cc/saving/pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

// A machine on which work and rests take just the time that they are told to.
class PaceTest : public ::testing::Test {
 protected:
  Pace PaceOf(unsigned cores) {
    return Pace({[this] { return requests_; }, [this] { return time_; },
                 [this] { return computed_; },
                 [this](double seconds) {
                   rests_.push_back(seconds);
                   time_ += seconds;
                 }},
                cores);
  }

  void Work(double seconds) {
    time_ += seconds;
    computed_ += seconds;
  }

  uint64_t requests_ = 5;
  double time_ = 100;
  double computed_ = 7;
  std::vector<double> rests_;
};

TEST_F(PaceTest, RestsWhileRequestsCome) {
  Pace pace = PaceOf(2);
  pace.Rest();
  EXPECT_TRUE(rests_.empty());  // There was no work.
  ++requests_;
  Work(0.01);
  pace.Rest();
  Work(0.02);
  pace.Rest();
  ASSERT_EQ(rests_.size(), 2U);
  EXPECT_NEAR(rests_[0], 0.04, 1e-9);
  EXPECT_NEAR(rests_[1], 0.08, 1e-9);
}

TEST_F(PaceTest, TakesATenthOfAnyMachine) {
  for (const unsigned cores : {1U, 2U, 5U}) {
    Pace pace = PaceOf(cores);
    pace.Rest();
    ++requests_;
    const double begin = time_;
    Work(0.01);
    pace.Rest();
    EXPECT_NEAR(0.01 / (time_ - begin) / cores, 0.1, 1e-9) << cores;
  }
}

TEST_F(PaceTest, OneCoreOfManyNeedsNoRest) {
  Pace pace = PaceOf(16);
  pace.Rest();
  ++requests_;
  Work(0.01);
  pace.Rest();
  ASSERT_EQ(rests_.size(), 1U);
  EXPECT_EQ(rests_[0], 0);
}

TEST_F(PaceTest, RestsNotWhereNobodyAsks) {
  Pace pace = PaceOf(2);
  for (int i = 0; i < 5; ++i) {
    Work(0.01);
    pace.Rest();
  }
  EXPECT_TRUE(rests_.empty());
}

TEST_F(PaceTest, GoesOnFasterOnceRequestsEnd) {
  Pace pace = PaceOf(2);
  pace.Rest();
  ++requests_;
  Work(0.01);
  pace.Rest();
  ASSERT_EQ(rests_.size(), 1U);
  Work(1);
  pace.Rest();
  EXPECT_EQ(rests_.size(), 1U);
}

TEST_F(PaceTest, WaitingForADeviceIsNoWork) {
  Pace pace = PaceOf(2);
  pace.Rest();
  ++requests_;
  Work(0.01);
  time_ += 0.5;
  pace.Rest();
  ASSERT_EQ(rests_.size(), 1U);
  EXPECT_NEAR(rests_[0], 0.04, 1e-9);
}

TEST_F(PaceTest, NoRestIsLong) {
  Pace pace = PaceOf(1);
  pace.Rest();
  ++requests_;
  Work(30);
  pace.Rest();
  EXPECT_EQ(rests_, std::vector<double>{Pace::kLongestRest});
}

TEST(RealPaceTest, Works) {
  uint64_t requests = 0;
  Pace pace([&requests] { return ++requests; });
  pace.Rest();
  pace.Rest();
  EXPECT_EQ(requests, 2U);
}

}  // namespace
}  // namespace persia
