// How a server ends.

#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

class StopTest : public ServerFixture {
 protected:
  StopTest() { StartServerWith(ServerOptions()); }

  // Calls Stop on another thread.
  std::future<void> StopSoon() {
    return std::async(std::launch::async,
                      [this] { server_->Stop(Clock::now() + kHang); });
  }

  // Expects the end, and then hangs up, as a client should: the server waits
  // for that for a while.
  static void ExpectEnd(RawSocket client) { EXPECT_TRUE(client.WaitForEnd()); }
};

TEST_F(StopTest, AnswersWhatIsInFlightThenCloses) {
  RawSocket client = Connect();
  RawSocket other = Connect();
  service_.Hold();
  client.Send(LookupFrame(1));
  client.Send(LookupFrame(2));
  other.Send(LookupFrame(3));
  service_.WaitForHeld(3);
  const std::future<void> stopped = StopSoon();
  // Stop has begun: no more clients are admitted.
  const Deadline deadline = Clock::now() + kHang;
  while (Connect().connected() && Clock::now() < deadline) {
  }
  EXPECT_FALSE(Connect().connected());
  service_.ReleaseAll();
  EXPECT_TRUE(client.ReceiveFrame().ok);
  EXPECT_TRUE(client.ReceiveFrame().ok);
  EXPECT_TRUE(other.ReceiveFrame().ok);
  ExpectEnd(std::move(client));
  ExpectEnd(std::move(other));
  EXPECT_EQ(stopped.wait_for(kHang), std::future_status::ready);
}

TEST_F(StopTest, ClosesIdleConnections) {
  RawSocket client = Connect();
  ExpectServed(&client);
  const std::future<void> stopped = StopSoon();
  ExpectEnd(std::move(client));
  EXPECT_EQ(stopped.wait_for(kHang), std::future_status::ready);
  EXPECT_FALSE(Connect().connected());
}

TEST_F(StopTest, CutsWhatIsNotAnsweredByTheDeadline) {
  RawSocket client = Connect();
  service_.Hold();
  client.Send(LookupFrame(1));
  service_.WaitForHeld(1);
  server_->Stop(DeadlineAfter(0.05));  // Returns, or the test hangs.
  EXPECT_TRUE(client.WaitForEnd());
  service_.ReleaseAll();
}

TEST_F(StopTest, DestructionCutsAndLateAnswersAreHarmless) {
  RawSocket client = Connect();
  service_.Hold();
  client.Send(LookupFrame(1));
  service_.WaitForHeld(1);
  server_ = nullptr;
  EXPECT_TRUE(client.WaitForEnd());
  service_.ReleaseAll();
}

TEST_F(StopTest, CutsAPeerThatDoesNotRead) {
  RawSocket client = Connect();
  // Replies of 8 MB each, more than sockets take.
  for (uint64_t id = 1; id <= 3; ++id) {
    client.Send(LookupFrame(id, kTable, 1 << 19));
  }
  EXPECT_TRUE(client.ReceiveFrame().ok);
  server_->Stop(DeadlineAfter(0.05));
}

TEST_F(StopTest, MayBeCalledAgain) {
  server_->Stop(Clock::now() + kHang);
  server_->Stop(Clock::now() + kHang);
  server_->Stop(Clock::now());
}

TEST_F(StopTest, FreesThePort) {
  ServerOptions options;
  options.port = server_->port();
  RawSocket client = Connect();
  ExpectServed(&client);
  server_->Stop(Clock::now());
  StartServerWith(options);
  RawSocket again = Connect();
  ExpectServed(&again);
}

}  // namespace
}  // namespace persia
