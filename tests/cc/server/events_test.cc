// Events that a server reports to its operator.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/cc/server/server_fixture.h"
#include "tests/cc/tls/test_authority.h"

namespace persia {
namespace {

class EventsTest : public ServerFixture {
 protected:
  ~EventsTest() override { server_.reset(); }  // Before events_.

  void Start(ServerOptions options = {}) {
    options.events = &events_;
    StartServerWith(options);
  }

  // Takes the next event, whose text must begin with `begin`; returns its text
  // after the peer's port.
  std::string NextFrom(const std::string& begin) {
    const std::optional<Event> event = events_.Take(DeadlineAfter(60));
    if (!event) return "nothing";
    EXPECT_EQ(event->level, EventLevel::kWarning);
    EXPECT_EQ(event->text.substr(0, begin.size()), begin) << event->text;
    return event->text.substr(event->text.find(": ") + 2);
  }

  EventLog events_;
};

TEST_F(EventsTest, BadFramesAndFromWhom) {
  Start();
  RawSocket client = Connect();
  client.Send(std::vector<uint8_t>(64, 'x'));
  EXPECT_TRUE(client.WaitForEnd());
  NextFrom("dropped 127.0.0.1:");
}

TEST_F(EventsTest, AnotherVersion) {
  Start();
  RawSocket client = Connect();
  client.Send(OfVersion(kProtocolVersion + 1, LookupFrame(1)));
  EXPECT_FALSE(ExpectError(&client, 1).ok());
  EXPECT_NE(NextFrom("dropped 127.0.0.1:").find("protocol version"),
            std::string::npos);
}

TEST_F(EventsTest, ClientsWithoutTheToken) {
  ServerOptions options;
  options.auth_token = "a token of the cluster";
  Start(options);
  RawSocket client = Connect();
  client.Send(LookupFrame(1));
  client.ReceiveFrame();
  const std::string why = NextFrom("refused 127.0.0.1:");
  EXPECT_NE(why.find("token"), std::string::npos) << why;
  EXPECT_EQ(why.find(options.auth_token), std::string::npos);
}

TEST_F(EventsTest, ClientsThatStaySilent) {
  ServerOptions options;
  options.auth_token = "a token of the cluster";
  options.handshake_seconds = 0.05;
  Start(options);
  RawSocket client = Connect();
  EXPECT_EQ(NextFrom("refused 127.0.0.1:"),
            "it did not complete the handshake in time: does it have a token?");
}

TEST_F(EventsTest, ClientsThatWantTlsOrDoNot) {
  Start();
  RawSocket secure = Connect();
  std::vector<uint8_t> hello = {22, 3, 1};
  hello.resize(64);
  secure.Send(hello);
  EXPECT_FALSE(secure.WaitForEnd());  // The server answers first.
  EXPECT_NE(NextFrom("refused 127.0.0.1:").find("it speaks TLS"),
            std::string::npos);

  const TestAuthority authority;
  ServerOptions options;
  options.tls = authority.MakeContext();
  options.handshake_seconds = 1;
  Start(options);
  RawSocket plain = Connect();
  plain.Send(LookupFrame(1));
  plain.ReceiveFrame();
  EXPECT_NE(NextFrom("refused 127.0.0.1:").find("this server wants TLS"),
            std::string::npos);
  RawSocket silent = Connect();
  EXPECT_EQ(NextFrom("refused 127.0.0.1:"),
            "it did not complete the handshake in time: does it speak TLS?");
}

TEST_F(EventsTest, OneConnectionTooMany) {
  ServerOptions options;
  options.max_connections = 1;
  Start(options);
  RawSocket first = Connect();
  ExpectServed(&first);
  RawSocket second = Connect();
  EXPECT_FALSE(second.ReceiveFrame().body.empty());
  EXPECT_NE(NextFrom("refused 127.0.0.1:").find("--max-connections"),
            std::string::npos);
}

TEST_F(EventsTest, RequestsAreNotTold) {
  Start();
  RawSocket client = Connect();
  ExpectServed(&client);
  client.Send(LookupFrame(2, "no such table"));
  EXPECT_FALSE(ExpectError(&client, 2).ok());
  EXPECT_FALSE(events_.Take(Clock::now()));
}

}  // namespace
}  // namespace persia
