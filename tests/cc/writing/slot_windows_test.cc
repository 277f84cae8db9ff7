#include "cc/writing/slot_windows.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

using Verdict = UpdateWindow::Verdict;

constexpr uint64_t kClient = 7;

SlotSet Slots(uint32_t first, uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = first; slot < end; ++slot) slots.set(slot);
  return slots;
}

// Applies an update where it is new. Returns the slots to which it is applied.
SlotSet Apply(SlotWindows* windows, uint64_t sequence,
              uint64_t client = kClient) {
  const auto begun = windows->Begin(client, sequence);
  if (begun.verdict == Verdict::kApplied) return SlotSet();
  EXPECT_EQ(begun.verdict, Verdict::kApply);
  windows->Finish(client, sequence, begun, /*applied=*/true);
  return begun.only == nullptr ? SlotSet().set() : *begun.only;
}

SlotsApplied Applied(const SlotSet& slots, const std::vector<uint64_t>& all) {
  SlotWindows windows(nullptr);
  for (const uint64_t sequence : all) Apply(&windows, sequence);
  return windows.Export(slots).at(0);
}

class SlotWindowsTest : public ::testing::Test {
 protected:
  SlotWindows windows_{nullptr};
};

TEST_F(SlotWindowsTest, WithoutSlotsOfOthersAllSlotsAreAlike) {
  EXPECT_TRUE(Apply(&windows_, 1).all());
  EXPECT_TRUE(Apply(&windows_, 1).none());
  EXPECT_TRUE(windows_.ExportTaken().empty());
}

TEST_F(SlotWindowsTest, AnUpdateIsAppliedToSlotsToWhichItIsNew) {
  const SlotSet taken = Slots(0, 10);
  Apply(&windows_, 1);
  windows_.Take(Applied(taken, {2}));
  EXPECT_EQ(Apply(&windows_, 1), taken);
  EXPECT_EQ(Apply(&windows_, 2), ~taken);
  EXPECT_TRUE(Apply(&windows_, 3).all());
  for (const uint64_t sequence : {1, 2, 3}) {
    EXPECT_TRUE(Apply(&windows_, sequence).none()) << sequence;
  }
}

TEST_F(SlotWindowsTest, AnUpdateThatWasNotAppliedMayComeAgain) {
  windows_.Take(Applied(Slots(0, 10), {2}));
  const auto begun = windows_.Begin(kClient, 2);
  EXPECT_EQ(windows_.Begin(kClient, 2).verdict, Verdict::kInProgress);
  windows_.Finish(kClient, 2, begun, /*applied=*/false);
  EXPECT_EQ(Apply(&windows_, 2), ~Slots(0, 10));
}

TEST_F(SlotWindowsTest, SlotsAreHandedOnWithWhatWasAppliedToThem) {
  windows_.Take(Applied(Slots(0, 10), {2}));
  Apply(&windows_, 3);
  const auto exported = windows_.Export(Slots(5, 15));
  ASSERT_EQ(exported.size(), 2u);
  EXPECT_EQ(exported[0].slots, Slots(5, 10));
  EXPECT_EQ(exported[1].slots, Slots(10, 15));
  SlotWindows next(nullptr);
  for (const SlotsApplied& each : exported) next.Take(each);
  EXPECT_EQ(Apply(&next, 2), ~Slots(5, 10));
  EXPECT_EQ(Apply(&next, 3), ~Slots(5, 15));
}

TEST_F(SlotWindowsTest, SlotsThatWereGivenAwayAreForgotten) {
  windows_.Take(Applied(Slots(0, 10), {2}));
  windows_.GiveAway(Slots(0, 5));
  ASSERT_EQ(windows_.ExportTaken().size(), 1u);
  EXPECT_EQ(windows_.ExportTaken()[0].slots, Slots(5, 10));
  windows_.GiveAway(Slots(5, 10));
  EXPECT_TRUE(windows_.ExportTaken().empty());
}

TEST_F(SlotWindowsTest, AClientOfRefusedUpdatesOnlyIsUnknown) {
  const auto begun = windows_.Begin(kClient, 1);
  windows_.Finish(kClient, 1, begun, /*applied=*/false);
  SlotWindows next(nullptr);
  next.Take(windows_.Export(Slots(0, 10)).at(0));
  EXPECT_TRUE(Apply(&next, 1).all());
}

TEST_F(SlotWindowsTest, EqualWindowsAreJoined) {
  Apply(&windows_, 1);
  windows_.Take(Applied(Slots(0, 10), {1}));
  windows_.Take(Applied(Slots(10, 20), {2}));
  const Clock::time_point now = Clock::now();
  EXPECT_FALSE(windows_.may_join(now));
  EXPECT_TRUE(windows_.may_join(now + std::chrono::minutes(2)));
  windows_.Join(now);
  ASSERT_EQ(windows_.ExportTaken().size(), 1u);
  EXPECT_EQ(windows_.ExportTaken()[0].slots, Slots(10, 20));
}

TEST_F(SlotWindowsTest, OldWindowsAreJoinedInDoubt) {
  Apply(&windows_, 1);
  Apply(&windows_, 1, kClient + 1);
  windows_.Take(Applied(Slots(0, 10), {2}));
  Apply(&windows_, 3);
  windows_.Join(Clock::now() + SlotWindows::kMostDelay);
  EXPECT_TRUE(windows_.ExportTaken().empty());
  EXPECT_FALSE(windows_.may_join(Clock::now() + 2 * SlotWindows::kMostDelay));
  for (const uint64_t unknown : {1, 2}) {
    EXPECT_EQ(windows_.Begin(kClient, unknown).verdict, Verdict::kTooOld);
  }
  EXPECT_EQ(windows_.Begin(kClient + 1, 1).verdict, Verdict::kTooOld);
  EXPECT_TRUE(Apply(&windows_, 3).none());
  EXPECT_TRUE(Apply(&windows_, 4).all());
  EXPECT_TRUE(Apply(&windows_, 2, kClient + 1).all());
}

}  // namespace
}  // namespace persia
