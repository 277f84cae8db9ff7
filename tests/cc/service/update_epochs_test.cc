#include "cc/service/update_epochs.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

constexpr uint64_t kNever = UpdateEpochs::kNever;
constexpr uint64_t kWindow = UpdateEpochs::kWindow;

TEST(UpdateEpochs, AnUpdateIsReflectedSinceItWasAcknowledged) {
  UpdateEpochs epochs;
  EXPECT_EQ(epochs.now(), 0u);
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(8, 1);
  epochs.Acknowledge(7, 2);
  EXPECT_EQ(epochs.Since(7, 1), 1u);
  EXPECT_EQ(epochs.Since(8, 1), 2u);
  EXPECT_EQ(epochs.Since(7, 2), 3u);
  EXPECT_EQ(epochs.now(), 3u);
}

TEST(UpdateEpochs, BeforeTheFirstUpdateThereIsNothingToReflect) {
  const UpdateEpochs epochs;
  EXPECT_EQ(epochs.Since(7, 0), 0u);
}

TEST(UpdateEpochs, NothingIsKnownOfStrangersAndOfWhatIsToCome) {
  UpdateEpochs epochs;
  EXPECT_EQ(epochs.Since(7, 1), kNever);
  epochs.Acknowledge(7, 5);
  EXPECT_EQ(epochs.Since(7, 6), kNever);
  EXPECT_EQ(epochs.Since(7, 4), kNever);  // Before the first known update.
  EXPECT_EQ(epochs.Since(8, 5), kNever);
}

TEST(UpdateEpochs, ChangesThatAreNoClientsCount) {
  UpdateEpochs epochs;
  EXPECT_EQ(epochs.Advance(), 1u);
  epochs.Acknowledge(7, 1);
  EXPECT_EQ(epochs.Since(7, 1), 2u);
}

TEST(UpdateEpochs, AllEarlierUpdatesMustBeReflectedToo) {
  UpdateEpochs epochs;
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(7, 3);
  epochs.Acknowledge(7, 4);
  epochs.Acknowledge(7, 2);  // Acknowledged last, in epoch 4.
  EXPECT_EQ(epochs.Since(7, 1), 1u);
  for (const uint64_t sequence : {2, 3, 4}) {
    EXPECT_EQ(epochs.Since(7, sequence), 4u) << sequence;
  }
}

TEST(UpdateEpochs, WhatNeverCameChangedNothing) {
  UpdateEpochs epochs;
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(7, 4);
  EXPECT_EQ(epochs.Since(7, 3), 1u);
  EXPECT_EQ(epochs.Since(7, 4), 2u);
}

TEST(UpdateEpochs, AnAcknowledgementThatComesAgainCountsAgain) {
  UpdateEpochs epochs;
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(7, 1);
  EXPECT_EQ(epochs.Since(7, 1), 2u);
}

TEST(UpdateEpochs, RemembersAWindow) {
  UpdateEpochs epochs;
  for (uint64_t s = 1; s <= kWindow + 10; ++s) epochs.Acknowledge(7, s);
  EXPECT_EQ(epochs.Since(7, 10), kNever);
  EXPECT_EQ(epochs.Since(7, 11), 11u);
  EXPECT_EQ(epochs.Since(7, kWindow + 10), kWindow + 10);
}

TEST(UpdateEpochs, AStragglerOfBeforeTheWindowCountsForAllOfIt) {
  UpdateEpochs epochs;
  for (uint64_t s = 2; s <= kWindow + 10; ++s) epochs.Acknowledge(7, s);
  epochs.Acknowledge(7, 1);
  EXPECT_EQ(epochs.Since(7, 1), kNever);
  EXPECT_EQ(epochs.Since(7, 11), epochs.now());
  EXPECT_EQ(epochs.Since(7, kWindow + 10), epochs.now());
}

TEST(UpdateEpochs, AJumpBeyondTheWindowBeginsAnew) {
  UpdateEpochs epochs;
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(7, 1 + kWindow);
  EXPECT_EQ(epochs.Since(7, 1), kNever);
  EXPECT_EQ(epochs.Since(7, kWindow), kNever);
  EXPECT_EQ(epochs.Since(7, 1 + kWindow), 2u);
}

TEST(UpdateEpochs, ForgetsAClient) {
  UpdateEpochs epochs;
  epochs.Acknowledge(7, 1);
  epochs.Acknowledge(8, 1);
  epochs.Forget(7);
  epochs.Forget(9);
  EXPECT_EQ(epochs.Since(7, 1), kNever);
  EXPECT_EQ(epochs.Since(8, 1), 2u);
}

TEST(UpdateEpochs, ForgetsTheClientThatWasSilentLongest) {
  UpdateEpochs epochs;
  for (uint64_t c = 1; c <= UpdateEpochs::kMaxClients; ++c) {
    epochs.Acknowledge(c, 1);
  }
  epochs.Acknowledge(1, 2);
  epochs.Acknowledge(1000, 1);
  EXPECT_EQ(epochs.Since(2, 1), kNever);
  EXPECT_NE(epochs.Since(1, 2), kNever);
  EXPECT_NE(epochs.Since(3, 1), kNever);
  EXPECT_EQ(epochs.Since(1000, 1), epochs.now());
}

}  // namespace
}  // namespace persia
