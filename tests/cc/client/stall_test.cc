// Connections that stay open and say nothing.

#include "cc/client/stall.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

using std::chrono::seconds;

TEST(StallTest, WaitsGrowAndTheLastIsHalfOfTheTime) {
  EXPECT_EQ(StallWait(seconds(30), 0), seconds(5));
  EXPECT_EQ(StallWait(seconds(30), 1), seconds(10));
  EXPECT_EQ(kMostStalls, 2);
}

TEST(StallTest, ShortTimesKnowNoStall) {
  EXPECT_GE(StallWait(seconds(1), 0), seconds(1));
}

TEST(StallTest, TheLongestTimeDoesNotOverflow) {
  EXPECT_GT(StallWait(Clock::duration::max(), 1), seconds(1));
}

// A client of one server, whose part this test plays.
class SilentServerTest : public testing::Test {
 protected:
  uint64_t Receive(RawSocket* server) {
    const RawFrame request = server->ReceiveFrame();
    EXPECT_TRUE(request.ok);
    EXPECT_EQ(request.header.type, kRequestType<LookupRequest>);
    return request.header.request_id;
  }

  OutFrame Reply(uint64_t request_id) {
    return EncodeLookupReply(request_id, 0, WireDtype::kFloat32,
                             {AsWireVectors(rows_).bytes});
  }

  // Expects the request on a new connection of the client, and answers it.
  void ExpectAskedAgain(uint64_t request_id) {
    RawSocket again = listener_.Accept();
    EXPECT_EQ(Receive(&again), request_id);
    again.Send(Reply(request_id));
    const Status status = lookup_.Wait();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(lookup_.rows(), rows_);
  }

  RawListener listener_;
  const std::vector<float> rows_ = std::vector<float>(2 * kRowDim, 1.0f);
  const std::unique_ptr<EmbeddingService> client_ =
      MakeClient({LocalHost(listener_.port())});
  PendingLookup lookup_{client_.get(), kUser, FirstIds(2), /*seconds=*/6};
};

TEST_F(SilentServerTest, RequestWithoutAnAnswerIsSentOverAnotherConnection) {
  RawSocket silent = listener_.Accept();
  ExpectAskedAgain(Receive(&silent));
}

TEST_F(SilentServerTest, ReplyThatStopsMidwayIsAskedForAgain) {
  RawSocket silent = listener_.Accept();
  const uint64_t id = Receive(&silent);
  const OutFrame reply = Reply(id);
  std::vector<uint8_t> bytes = reply.head;
  bytes.insert(bytes.end(), reply.payload[0].begin(),
               reply.payload[0].begin() + 5);
  silent.Send(bytes);
  ExpectAskedAgain(id);
}

}  // namespace
}  // namespace persia
