// Followers of a store, and what each of them is told when.

#include "cc/following/followers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/service/changes_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

class FollowersTest : public ::testing::Test {
 protected:
  FollowersTest() { Make("t"); }

  Table* Make(const std::string& name) {
    EXPECT_TRUE(
        store_.CreateTable(MakeConfig(name, 3, "uniform", "adagrad")).ok());
    return *store_.Find(HashName(name));
  }

  Copy Follower(uint64_t number = 7) {
    return Copy(
        [this](ChangesRequest* request) { return followers_.Tell(request); },
        number);
  }

  Table* table() { return *store_.Find(HashName("t")); }

  void Save(uint64_t id) {
    for (Table* table : store_.All()) {
      ASSERT_TRUE(table->FreezeToSave(SaveScope::kWhole).ok());
      table->CommitSave();
    }
    saved_ = id;
  }

  void ExpectCopied(Copy* copy, const std::string& name = "t") {
    const Table* from = *store_.Find(HashName(name));
    Weights rows;
    for (const auto& [id, row] : ExportAll(*from)) rows[id] = row.weights;
    EXPECT_EQ((*copy)[name], rows);
  }

  Store store_;
  std::atomic<uint64_t> saved_{0};
  Clock::time_point now_{std::chrono::hours(1000)};
  Followers followers_{{&store_, [this] { return saved_.load(); }},
                       [this] { return now_; }};
};

TEST_F(FollowersTest, BeginWithAllRowsAndGoOn) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  EXPECT_EQ(copy.CatchUp(100), 1000u);
  EXPECT_EQ(copy.began, Begins::kWhole);
  ExpectCopied(&copy);
  table()->Update(Ids{1, 2}, Floats(6, 1.0f), 0.1f);
  table()->Remove(Ids{3});
  EXPECT_EQ(copy.CatchUp(), 3u);
  EXPECT_EQ(copy.begins, Begins::kNothing);
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, ALostReplyIsGivenAgainAsItIsThen) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  table()->Update(Ids{1, 2, 3}, Floats(9, 1.0f), 0.1f);
  EXPECT_TRUE(copy.Poll(1000, /*lost=*/true).ok());
  table()->Remove(Ids{1});
  table()->Update(Ids{2, 4}, Floats(6, 1.0f), 0.1f);
  EXPECT_TRUE(copy.Poll(1000, /*lost=*/true).ok());
  EXPECT_TRUE(copy.Poll().ok());
  EXPECT_EQ(copy.told, 3u);
  EXPECT_EQ(copy[std::string("t")].count(1), 0u);
  EXPECT_FALSE(copy.complete);
  EXPECT_EQ(copy.CatchUp(), 3u);  // 1, 2 and 4 changed after they were told.
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, LostBeginningsBeginAnew) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(copy.Poll(100, /*lost=*/true).ok());
  EXPECT_EQ(copy.CatchUp(100), 1000u);
  for (int i = 0; i < 3; ++i) {
    table()->Remove(Ids{i});
    EXPECT_TRUE(copy.Poll(100, /*lost=*/i != 1).ok());
  }
  copy.CatchUp();
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, AnyLossesComeToTheSame) {
  std::mt19937_64 random(3);
  Copy copy = Follower();
  for (int i = 0; i < 2000; ++i) {
    if (i % 2 == 0) ChangeAny(table(), &random);
    EXPECT_TRUE(copy.Poll(1 + random() % 80, random() % 3 == 0).ok());
    if (random() % 200 == 0) copy.position.version += 1000;
    if (random() % 200 == 0) saved_ = copy.position.base_save + 1;
  }
  copy.CatchUp();
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, APositionThatIsNotKnownBeginsAnewAndDropsRows) {
  Look(table(), Range(0, 100));
  Copy copy = Follower();
  copy.CatchUp();
  int64_t gone = 0;
  for (const FollowPosition& other :
       {FollowPosition{7, copy.position.epoch, 99, 0},
        FollowPosition{7, 5, 1, 0}, FollowPosition{8, 0, 0, 0}}) {
    table()->Remove(Ids{gone++});
    copy.began = Begins::kNothing;
    copy.position = other;
    copy.CatchUp();
    EXPECT_EQ(copy.began, Begins::kWhole);
    ExpectCopied(&copy);
  }
}

TEST_F(FollowersTest, OneThatDoesNotAskForTenMinutesIsForgotten) {
  Look(table(), Range(0, 1000));
  const uint64_t before = table()->Stats().bytes;
  Copy copy = Follower();
  Copy other = Follower(8);
  copy.CatchUp();
  other.CatchUp();
  now_ += std::chrono::minutes(9);
  other.CatchUp();
  now_ += std::chrono::minutes(1);
  followers_.ForgetIdle();
  table()->Remove(Ids{1});
  EXPECT_EQ(other.CatchUp(), 1u);
  copy.CatchUp();
  EXPECT_EQ(copy.began, Begins::kWhole);
  EXPECT_EQ(copy[std::string("t")].size(), 999u);
  now_ += std::chrono::minutes(10);
  followers_.ForgetIdle();
  EXPECT_EQ(table()->Stats().bytes, before);
}

TEST_F(FollowersTest, BeginWithWhatChangedSinceTheSaveThatTheyHave) {
  Look(table(), Range(0, 1000));
  Save(5);
  Copy copy = Follower();
  copy.CatchUp();
  EXPECT_EQ(copy.position.base_save, 5u);
  now_ += std::chrono::minutes(10);
  table()->Update(Ids{1, 2}, Floats(6, 1.0f), 0.1f);
  table()->Remove(Ids{3});
  followers_.ForgetIdle();
  EXPECT_EQ(copy.CatchUp(), 3u);
  EXPECT_EQ(copy.began, Begins::kSinceSave);
  ExpectCopied(&copy);
  Save(6);
  now_ += std::chrono::minutes(10);
  followers_.ForgetIdle();
  EXPECT_EQ(copy.CatchUp(), 999u);  // The copy was not told of save 6.
  EXPECT_EQ(copy.began, Begins::kWhole);
  EXPECT_EQ(copy.position.base_save, 6u);
}

TEST_F(FollowersTest, WhoNeedsNoEarlierRowsBeginsNowEachTime) {
  Look(table(), Range(0, 1000));
  Save(5);
  Copy copy = Follower();
  copy.position.base_save = FollowPosition::kNow;
  EXPECT_EQ(copy.CatchUp(), 0u);
  EXPECT_EQ(copy.began, Begins::kSinceSave);
  table()->Remove(Ids{3});
  EXPECT_EQ(copy.CatchUp(), 1u);
  now_ += std::chrono::minutes(10);
  followers_.ForgetIdle();
  table()->Remove(Ids{4});
  EXPECT_EQ(copy.CatchUp(), 0u);
  EXPECT_EQ(copy.position.base_save, FollowPosition::kNow);
  table()->Remove(Ids{5});
  EXPECT_EQ(copy.CatchUp(), 1u);
}

TEST_F(FollowersTest, AreAsNewAsASaveOnceCompleteAlone) {
  Look(table(), Range(0, 1000));
  Save(5);
  Copy copy = Follower();
  EXPECT_TRUE(copy.Poll(100).ok());
  EXPECT_FALSE(copy.complete);
  EXPECT_EQ(copy.position.base_save, 0u);
  copy.CatchUp();
  EXPECT_EQ(copy.position.base_save, 5u);
}

TEST_F(FollowersTest, ATableThatIsInNoSaveIsToldWhole) {
  Look(table(), Range(0, 100));
  Save(5);
  Copy copy = Follower();
  copy.CatchUp();
  Look(Make("new"), Range(0, 10));
  copy.CatchUp();
  (*store_.Find(HashName("new")))->Remove(Ids{1});
  copy.position.epoch = 0;  // As if the shard had forgotten the copy.
  copy.CatchUp();
  EXPECT_EQ(copy.began, Begins::kWhole);
  ExpectCopied(&copy, "new");
}

TEST_F(FollowersTest, NewTablesAreToldOnceEvenWithoutRows) {
  Copy copy = Follower();
  copy.CatchUp();
  EXPECT_EQ(copy.tables(), (std::set<std::string>{"t"}));
  Make("empty");
  Look(Make("full"), Range(0, 2000));
  ChangesRequest request;
  request.position = copy.position;
  request.max_rows = 10;
  ASSERT_TRUE(followers_.Tell(&request).ok());
  ASSERT_EQ(request.tables.size(), 2u);
  EXPECT_EQ(request.tables[0].config.name, "empty");
  EXPECT_EQ(request.tables[1].config.Describe(),
            MakeConfig("full", 3, "uniform", "adagrad").Describe());
  copy.CatchUp();
  EXPECT_EQ(copy.tables(), (std::set<std::string>{"empty", "full", "t"}));
  ExpectCopied(&copy, "full");
  EXPECT_TRUE(copy.Poll().ok());
  EXPECT_EQ(copy.told, 0u);
}

TEST_F(FollowersTest, ALargeTableKeepsNoOtherWaiting) {
  Look(table(), Range(0, 100000));
  Look(Make("z"), Range(0, 10));
  Copy copy = Follower();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(copy.Poll(1000).ok());
  EXPECT_EQ(copy[std::string("z")].size(), 10u);
}

TEST_F(FollowersTest, RepliesKeepWithinTheirBytes) {
  Look(table(), Range(0, 100000));
  ChangesRequest request;
  request.position.follower = 7;
  request.max_rows = 1000000;
  request.max_bytes = 100000;
  ASSERT_TRUE(followers_.Tell(&request).ok());
  EXPECT_GT(request.tables[0].rows.ids.size(), 1000u);
  EXPECT_LT(request.tables[0].rows.ids.size(), 5000u);
}

TEST_F(FollowersTest, WhatOutgrowsTheRowsBeginsAnew) {
  Look(table(), Range(0, 10));
  Copy copy = Follower();
  copy.CatchUp();
  for (int64_t at = 1000; at < 1000000; at += 10000) {
    Look(table(), Range(at, at + 10000));
    table()->Remove(Range(at, at + 10000));
  }
  EXPECT_EQ(copy.CatchUp(), 10u);
  EXPECT_EQ(copy.began, Begins::kWhole);
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, ForgottenTablesMayGo) {
  Look(table(), Range(0, 10));
  Copy copy = Follower();
  copy.CatchUp();
  followers_.ForgetAll();
  {
    Store::Tables tables;
    tables[HashName("t")] =
        std::move(*MakeTable(MakeConfig("t", 3, "zeros", "sgd")));
    store_.Replace(&tables);
  }
  Look(table(), {5, 11});
  copy.CatchUp();
  EXPECT_EQ(copy.began, Begins::kWhole);
  ExpectCopied(&copy);
}

TEST_F(FollowersTest, OneTooManyIsRefusedUntilAnotherIsForgotten) {
  std::vector<Copy> copies;
  for (uint64_t i = 0; i < Followers::kMost; ++i) {
    copies.push_back(Follower(1 + i));
    copies.back().CatchUp();
  }
  Copy late = Follower(1000);
  const Status refused = late.Poll();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("64 followers"), std::string::npos);
  now_ += std::chrono::minutes(5);
  for (Copy& copy : copies) {
    if (&copy != &copies[3]) copy.CatchUp();
  }
  now_ += std::chrono::minutes(5);
  EXPECT_TRUE(late.Poll().ok());
}

TEST_F(FollowersTest, RequestsThatAreNoneAreRefused) {
  ChangesRequest request;
  request.max_rows = 1;
  EXPECT_EQ(followers_.Tell(&request).code(), Code::kInvalidArgument);
}

TEST_F(FollowersTest, OneThatEndsLeavesItsPlaceAndComesBackAnew) {
  Look(table(), Range(0, 10));
  std::vector<Copy> copies;
  for (uint64_t i = 0; i < Followers::kMost; ++i) {
    copies.push_back(Follower(1 + i));
    copies.back().CatchUp();
  }
  EXPECT_TRUE(copies[3].Poll(0, true).ok());
  Copy late = Follower(1000);
  late.CatchUp();
  ExpectCopied(&late);
  EXPECT_EQ(copies[3].Poll().code(), Code::kResourceExhausted);
  EXPECT_TRUE(late.Poll(0, true).ok());
  EXPECT_TRUE(late.Poll(0, true).ok());
  Look(table(), {11});
  copies[3].CatchUp();
  EXPECT_EQ(copies[3].began, Begins::kWhole);
  ExpectCopied(&copies[3]);
}

TEST_F(FollowersTest, ThreadsThatTrainAndFollowLoseNothing) {
  std::atomic<int> steps{0};
  std::vector<Copy> copies;
  for (uint64_t i = 1; i < 3; ++i) copies.push_back(Follower(i));
  RunInThreads([&](int thread) {
    std::mt19937_64 random(thread);
    if (thread < 2) {
      while (steps < 300) {
        EXPECT_TRUE(copies[thread].Poll(200, random() % 4 == 0).ok());
        followers_.ForgetIdle();
      }
      return;
    }
    while (steps < 300) {
      ChangeAny(table(), &random);
      ++steps;
    }
  });
  for (Copy& copy : copies) {
    copy.CatchUp();
    ExpectCopied(&copy);
  }
}

}  // namespace
}  // namespace persia
