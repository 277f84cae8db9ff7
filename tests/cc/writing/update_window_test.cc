#include "cc/writing/update_window.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace persia {
namespace {

using Verdict = UpdateWindow::Verdict;
constexpr uint64_t kWindow = UpdateWindow::kWindow;

void Apply(UpdateWindow* window, uint64_t client, uint64_t sequence) {
  ASSERT_EQ(window->Begin(client, sequence), Verdict::kApply);
  window->Finish(client, sequence, /*applied=*/true);
}

TEST(UpdateWindow, RecognisesAnAppliedUpdate) {
  UpdateWindow window;
  Apply(&window, 1, 5);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApplied);
  EXPECT_EQ(window.Begin(1, 6), Verdict::kApply);
}

TEST(UpdateWindow, StartsAtAnyNumber) {
  UpdateWindow window;
  Apply(&window, 1, 0);
  Apply(&window, 2, ~uint64_t{0});
  EXPECT_EQ(window.Begin(1, 0), Verdict::kApplied);
  EXPECT_EQ(window.Begin(2, ~uint64_t{0}), Verdict::kApplied);
}

TEST(UpdateWindow, KnowsAnUpdateInProgress) {
  UpdateWindow window;
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApply);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kInProgress);
}

TEST(UpdateWindow, LetsAFailedUpdateComeAgain) {
  UpdateWindow window;
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApply);
  window.Finish(1, 5, /*applied=*/false);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApply);
}

TEST(UpdateWindow, TakesUpdatesInAnyOrder) {
  UpdateWindow window;
  for (const uint64_t sequence : {7, 5, 6}) Apply(&window, 1, sequence);
  for (const uint64_t sequence : {5, 6, 7}) {
    EXPECT_EQ(window.Begin(1, sequence), Verdict::kApplied);
  }
}

TEST(UpdateWindow, KeepsClientsApart) {
  UpdateWindow window;
  Apply(&window, 1, 5);
  EXPECT_EQ(window.Begin(2, 5), Verdict::kApply);
}

TEST(UpdateWindow, RemembersExactlyItsWindow) {
  UpdateWindow window;
  for (uint64_t sequence = 1; sequence <= kWindow + 1; ++sequence) {
    Apply(&window, 1, sequence);
  }
  EXPECT_EQ(window.Begin(1, 1), Verdict::kTooOld);
  EXPECT_EQ(window.Begin(1, 2), Verdict::kApplied);
}

TEST(UpdateWindow, ForgetsSlotsThatItReuses) {
  UpdateWindow window;
  Apply(&window, 1, 5);
  Apply(&window, 1, 5 + kWindow - 2);
  // Has the same slot as 5; 5 + kWindow - 1 was skipped and may still come.
  Apply(&window, 1, 5 + kWindow);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kTooOld);
  EXPECT_EQ(window.Begin(1, 5 + kWindow - 1), Verdict::kApply);
}

TEST(UpdateWindow, SurvivesALongJump) {
  UpdateWindow window;
  for (uint64_t sequence = 0; sequence < kWindow; ++sequence) {
    Apply(&window, 1, sequence);
  }
  Apply(&window, 1, 10 * kWindow);
  for (uint64_t back = 1; back < kWindow; ++back) {
    ASSERT_EQ(window.Begin(1, 10 * kWindow - back), Verdict::kApply) << back;
  }
}

TEST(UpdateWindow, AnUpdateThatLeftTheWindowMarksNobodyElse) {
  UpdateWindow window;
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApply);
  EXPECT_EQ(window.Begin(1, 5 + kWindow), Verdict::kApply);
  window.Finish(1, 5, /*applied=*/true);
  EXPECT_EQ(window.Begin(1, 5 + kWindow), Verdict::kInProgress);
}

TEST(UpdateWindow, AllowsEachUpdateToOneThread) {
  constexpr uint64_t kUpdates = 500;
  UpdateWindow window;
  std::atomic<uint64_t> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t sequence = 1; sequence <= kUpdates; ++sequence) {
        if (window.Begin(1, sequence) != Verdict::kApply) continue;
        ++allowed;
        window.Finish(1, sequence, /*applied=*/true);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, kUpdates);
}

// ---- Of many clients.

TEST(UpdateWindow, RemembersTheClientsThatWereHeardLast) {
  UpdateWindow window(nullptr, {3, 10});
  for (const uint64_t client : {1, 2, 3}) Apply(&window, client, 5);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kApplied);  // 2 is the oldest now.
  Apply(&window, 4, 5);
  for (const uint64_t client : {1, 3, 4}) {
    EXPECT_EQ(window.Begin(client, 5), Verdict::kApplied) << client;
  }
}

TEST(UpdateWindow, AForgottenClientsUpdateIsNeverAppliedAgain) {
  UpdateWindow window(nullptr, {2, 10});
  Apply(&window, 1, 4);
  Apply(&window, 1, 6);
  for (const uint64_t client : {2, 3}) Apply(&window, client, 1);
  for (const uint64_t sequence : {0, 4, 5, 6}) {
    EXPECT_EQ(window.Begin(1, sequence), Verdict::kTooOld) << sequence;
  }
}

TEST(UpdateWindow, AForgottenClientGoesOn) {
  UpdateWindow window(nullptr, {2, 10});
  Apply(&window, 1, 6);
  for (const uint64_t client : {2, 3}) Apply(&window, client, 1);
  Apply(&window, 1, 8);
  EXPECT_EQ(window.Begin(1, 8), Verdict::kApplied);
  Apply(&window, 1, 7);
  // Updates from before the client was forgotten stay refused.
  EXPECT_EQ(window.Begin(1, 6), Verdict::kTooOld);
  EXPECT_EQ(window.Begin(1, 5), Verdict::kTooOld);
}

TEST(UpdateWindow, AClientWithAnUpdateInProgressIsNotForgotten) {
  UpdateWindow window(nullptr, {2, 10});
  EXPECT_EQ(window.Begin(1, 1), Verdict::kApply);
  for (uint64_t client = 2; client < 8; ++client) Apply(&window, client, 1);
  EXPECT_EQ(window.Begin(1, 1), Verdict::kInProgress);
  window.Finish(1, 1, /*applied=*/true);
  EXPECT_EQ(window.Begin(1, 1), Verdict::kApplied);
}

TEST(UpdateWindow, MoreClientsThanItMayForgetAreRefused) {
  UpdateWindow window(nullptr, {2, 3});
  for (uint64_t client = 1; client <= 5; ++client) Apply(&window, client, 1);
  EXPECT_EQ(window.Begin(6, 1), Verdict::kTooMany);
  EXPECT_EQ(window.Begin(5, 1), Verdict::kApplied);
  EXPECT_EQ(window.Begin(1, 1), Verdict::kTooOld);
  Apply(&window, 1, 2);  // It changes places with another one.
  EXPECT_EQ(window.Begin(4, 1), Verdict::kTooOld);
  EXPECT_EQ(window.Begin(6, 1), Verdict::kTooMany);
}

TEST(UpdateWindow, WhatIsExportedForgetsNothingMore) {
  UpdateWindow window(nullptr, {2, 10});
  Apply(&window, 1, 6);
  for (const uint64_t client : {2, 3}) Apply(&window, client, 1);
  Apply(&window, 1, 8);  // 2 is forgotten.
  UpdateWindow imported(nullptr, {2, 10});
  imported.Import(window.Export());
  EXPECT_EQ(imported.Begin(2, 1), Verdict::kTooOld);
  EXPECT_EQ(imported.Begin(3, 1), Verdict::kApplied);
  EXPECT_EQ(imported.Begin(1, 8), Verdict::kApplied);
  EXPECT_EQ(imported.Begin(1, 6), Verdict::kApplied) << "not applied again";
  Apply(&imported, 1, 7);
  Apply(&imported, 4, 1);  // 3 was idle longest.
  EXPECT_EQ(imported.Begin(3, 1), Verdict::kTooOld);
}

TEST(UpdateWindow, TellsWhoIsForgotten) {
  EventLog events;
  UpdateWindow window(&events, {1, 10});
  Apply(&window, 77, 6);
  Apply(&window, 78, 1);
  const auto event = events.Take(Clock::now());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->text.substr(0, 10), "client 77 ");
}

}  // namespace
}  // namespace persia
