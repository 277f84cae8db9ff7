// Events about shards that do not answer.

#include "cc/client/silence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cc/client/shards_fixture.h"

namespace persia {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kShard[] = "shard 0 of 1 (a:1)";

ShardRequest RequestAt(Clock::time_point asked_at,
                       MessageType reply = kReplyType<LookupRequest>) {
  ShardRequest request;
  request.asked_at = asked_at;
  request.deadline = asked_at + seconds(30);
  request.reply_type = reply;
  return request;
}

class SilenceTest : public testing::Test {
 protected:
  std::optional<std::string> Taken() {
    const auto event = events_.Take(Clock::now());
    if (!event.has_value()) return std::nullopt;
    EXPECT_EQ(event->level, EventLevel::kWarning);
    return event->text;
  }

  EventLog events_;
  Silence silence_{&events_, kShard, 2};
  const Clock::time_point now_ = Clock::now();
};

TEST_F(SilenceTest, IsToldOfAfterItsTimeWithoutASign) {
  const ShardRequest request = RequestAt(now_);
  EXPECT_EQ(silence_.TellsAt(request, true, std::nullopt), now_ + seconds(2));
  EXPECT_EQ(silence_.TellsAt(request, true, now_ + seconds(1)),
            now_ + seconds(3));
  EXPECT_EQ(silence_.TellsAt(request, true, now_ - seconds(9)),
            now_ + seconds(2));
}

TEST_F(SilenceTest, IsNotToldOfWhereTheErrorComesFirst) {
  ShardRequest request = RequestAt(now_);
  request.deadline = now_ + seconds(2);
  EXPECT_EQ(silence_.TellsAt(request, true, std::nullopt),
            Clock::time_point::max());
}

TEST_F(SilenceTest, AShardThatIsReachedMayTakeItsTimeOverFiles) {
  const ShardRequest request = RequestAt(now_, kReplyType<CheckpointRequest>);
  EXPECT_EQ(silence_.TellsAt(request, true, std::nullopt),
            Clock::time_point::max());
  EXPECT_EQ(silence_.TellsAt(request, false, std::nullopt), now_ + seconds(2));
}

TEST_F(SilenceTest, IsToldOfOnceWithWhatWaitsForIt) {
  const ShardRequest request = RequestAt(Clock::now() - milliseconds(2000));
  silence_.Tell(request, 3, "Connection refused");
  EXPECT_EQ(Taken(), std::string(kShard) +
                         " has not answered for 2 s: Connection refused. "
                         "Requests that wait for it: a lookup and 2 more. The "
                         "oldest fails in 28 s");
  EXPECT_EQ(silence_.TellsAt(request, false, std::nullopt),
            Clock::time_point::max());
}

TEST_F(SilenceTest, ItsEndIsToldOfOnceAndAnotherOneAgain) {
  silence_.End();
  EXPECT_EQ(Taken(), std::nullopt);
  const ShardRequest request = RequestAt(Clock::now() - seconds(3));
  silence_.Tell(request, 1, "it is connected, but does not answer");
  EXPECT_NE(Taken(), std::nullopt);
  silence_.End();
  EXPECT_EQ(Taken(), std::string(kShard) + " answers again, after 3 s");
  silence_.End();
  EXPECT_EQ(Taken(), std::nullopt);
  EXPECT_LT(silence_.TellsAt(request, true, std::nullopt),
            Clock::time_point::max());
}

TEST_F(SilenceTest, WithoutALogNothingIsTold) {
  Silence silence(nullptr, kShard, 2);
  EXPECT_EQ(silence.TellsAt(RequestAt(now_), false, std::nullopt),
            Clock::time_point::max());
}

// A client of real shards that reports their silence very soon.
class SilentShardTest : public testing::Test {
 protected:
  SilentShardTest() {
    RemoteServiceOptions options;
    options.events = &events_;
    options.silence_seconds = 0.02;
    client_ = MakeClient({shard_.address()}, options);
    CreateRowTable(client_.get(), kUser);
  }

  // Other events may come first: on a busy machine, that the shard was silent
  // when the table was opened.
  void ExpectTold(const std::string& part) {
    while (const auto event = events_.Take(DeadlineAfter(60))) {
      EXPECT_NE(event->text.find(shard_.address()), std::string::npos)
          << event->text;
      if (event->text.find(part) != std::string::npos) return;
    }
    ADD_FAILURE() << "nothing was told of: " << part;
  }

  EventLog events_;
  Shard shard_;
  std::unique_ptr<EmbeddingService> client_;
};

TEST_F(SilentShardTest, ADeadShardIsToldOfWhileRequestsWaitAndWhenItIsBack) {
  shard_.Kill();
  PendingLookup lookup(client_.get(), kUser, FirstIds(2));
  ExpectTold("wait for it: a lookup. The oldest fails in ");
  EXPECT_FALSE(lookup.ready());
  shard_.Restart();
  ExpectTold("answers again, after ");
  EXPECT_TRUE(lookup.Wait().ok());
}

TEST_F(SilentShardTest, AShardThatHangsIsToldOf) {
  shard_.service()->Hold();
  PendingLookup lookup(client_.get(), kUser, FirstIds(2));
  ExpectTold("it is connected, but does not answer");
  shard_.service()->ReleaseAll();
  ExpectTold("answers again, after ");
  EXPECT_TRUE(lookup.Wait().ok());
}

TEST_F(SilentShardTest, AShardThatPutsRequestsOffIsToldOfWithItsReason) {
  shard_.service()->FailNext(1 << 20, Status(Code::kUnavailable, "is busy"));
  PendingUpdate update(client_.get(), kUser, FirstIds(2), 7, 1);
  ExpectTold("is busy. Requests that wait for it: an update");
  shard_.service()->FailNext(0, Status());
  EXPECT_TRUE(update.Wait().ok());
  ExpectTold("answers again, after ");
}

}  // namespace
}  // namespace persia
