#include "cc/server/reply_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace persia {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = kKiB << 10;

// Of 64 MiB, a 16th is for requests of up to 16 KiB, a half for those of over a
// MiB, and the rest for those between.
constexpr uint64_t kShortRoom = 4 * kMiB;
constexpr uint64_t kMediumRoom = 28 * kMiB;
constexpr uint64_t kLongRoom = 32 * kMiB;

class ReplyBudgetTest : public ::testing::Test {
 protected:
  // Returns whether there is room now. If not, `name` is added to granted_ once
  // there is.
  bool Take(uint64_t bytes, int name = 0) {
    number_ = budget_->Take(bytes, [this, name] { granted_.push_back(name); });
    if (number_ == 0) charges_.push_back(budget_->Given(bytes));
    return number_ == 0;
  }

  // Takes all the room that there is for requests of `bytes` bytes.
  void Fill(uint64_t room, uint64_t bytes) {
    for (; room >= bytes; room -= bytes) ASSERT_TRUE(Take(bytes));
    EXPECT_FALSE(Take(bytes));
    budget_->Cancel(number_, bytes);
  }

  const std::shared_ptr<ReplyBudget> budget_ =
      std::make_shared<ReplyBudget>(64 * kMiB);
  std::vector<int> granted_;
  // Destroyed before granted_, since what they give back may grant requests.
  std::vector<ReplyBudget::Charge> charges_;
  uint64_t number_ = 0;
};

TEST_F(ReplyBudgetTest, AllOfItIsGivenAndNoMore) {
  Fill(kShortRoom, 16 * kKiB);
  Fill(kMediumRoom, kMiB);
  Fill(kLongRoom, 8 * kMiB);
  EXPECT_EQ(budget_->taken(), 64 * kMiB);
  charges_.clear();
  EXPECT_EQ(budget_->taken(), 0u);
}

TEST_F(ReplyBudgetTest, RequestsOfAnotherSizeDoNotWait) {
  Fill(kLongRoom, 8 * kMiB);
  EXPECT_FALSE(Take(8 * kMiB));
  EXPECT_TRUE(Take(kMiB));
  Fill(kMediumRoom - kMiB, kMiB);
  EXPECT_FALSE(Take(kMiB));
  EXPECT_TRUE(Take(16 * kKiB));
  EXPECT_TRUE(Take(0));
}

TEST_F(ReplyBudgetTest, RoomIsGivenInTheOrderInWhichItWasAskedFor) {
  Fill(kLongRoom, 8 * kMiB);
  EXPECT_FALSE(Take(16 * kMiB, 1));
  EXPECT_FALSE(Take(8 * kMiB, 2));
  EXPECT_FALSE(Take(8 * kMiB, 3));
  EXPECT_TRUE(budget_->has_waiters());
  charges_.pop_back();  // Suffices for the second, but the first goes first.
  EXPECT_TRUE(granted_.empty());
  charges_.pop_back();
  EXPECT_EQ(granted_, std::vector<int>{1});
  charges_.pop_back();
  charges_.pop_back();
  EXPECT_EQ(granted_, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(budget_->has_waiters());
  EXPECT_EQ(budget_->taken(), kLongRoom);
}

TEST_F(ReplyBudgetTest, WhatIsMoreThanThereIsGetsRoomAlone) {
  EXPECT_TRUE(Take(2 * kMiB));
  EXPECT_FALSE(Take(100 * kMiB));
  charges_.clear();
  EXPECT_EQ(granted_.size(), 1u);
  EXPECT_FALSE(Take(2 * kMiB));
  budget_->Given(100 * kMiB);
  EXPECT_EQ(granted_.size(), 2u);
}

TEST_F(ReplyBudgetTest, WhoGivesUpLetsTheNextGo) {
  EXPECT_TRUE(Take(24 * kMiB));
  EXPECT_FALSE(Take(16 * kMiB, 1));
  const uint64_t first = number_;
  EXPECT_FALSE(Take(8 * kMiB, 2));
  budget_->Cancel(first, 16 * kMiB);
  EXPECT_EQ(granted_, std::vector<int>{2});
  EXPECT_EQ(budget_->taken(), kLongRoom);
}

TEST_F(ReplyBudgetTest, WhatWasGrantedTooLateIsGivenBack) {
  EXPECT_TRUE(Take(kLongRoom));
  EXPECT_FALSE(Take(kLongRoom));
  charges_.clear();
  EXPECT_EQ(granted_.size(), 1u);
  budget_->Cancel(number_, kLongRoom);
  EXPECT_EQ(budget_->taken(), 0u);
}

TEST_F(ReplyBudgetTest, AChargeThatShrinksMakesRoom) {
  EXPECT_TRUE(Take(kLongRoom));
  EXPECT_FALSE(Take(kLongRoom - 1));
  charges_[0].Resize(1);
  EXPECT_EQ(granted_.size(), 1u);
  EXPECT_EQ(budget_->taken(), kLongRoom);
}

TEST_F(ReplyBudgetTest, AChargeGrowsWhereThereIsRoom) {
  EXPECT_TRUE(Take(0));
  ReplyBudget::Charge& charge = charges_[0];
  EXPECT_TRUE(charge.TryResize(kMiB));
  EXPECT_EQ(budget_->taken(), kMiB);
  EXPECT_TRUE(charge.TryResize(kLongRoom));
  EXPECT_EQ(budget_->taken(), kLongRoom);
  EXPECT_FALSE(Take(kLongRoom - 10));
  EXPECT_TRUE(charge.TryResize(10));
  EXPECT_EQ(granted_.size(), 1u);
  EXPECT_FALSE(charge.TryResize(kLongRoom));
  EXPECT_EQ(charge.bytes(), 10u);
  charge.Resize(20);
  EXPECT_EQ(budget_->taken(), kLongRoom + 10);
}

TEST_F(ReplyBudgetTest, AChargeMovesWithWhatItIsOf) {
  EXPECT_TRUE(Take(10));
  ReplyBudget::Charge other = std::move(charges_[0]);
  charges_.clear();
  EXPECT_EQ(budget_->taken(), 10u);
  other = {};
  EXPECT_EQ(budget_->taken(), 0u);
}

}  // namespace
}  // namespace persia
