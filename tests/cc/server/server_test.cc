#include "cc/server/server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

class ServerTest : public ServerFixture {};

TEST_F(ServerTest, ServesSeveralConnections) {
  StartServerWith(ServerOptions());
  RawSocket first = Connect();
  RawSocket second = Connect();
  RawSocket third = Connect();
  for (uint64_t id = 1; id < 4; ++id) {
    ExpectServed(&first, id);
    ExpectServed(&second, id);
    ExpectServed(&third, id);
  }
}

TEST_F(ServerTest, BusyPortIsUnavailableAndNamed) {
  StartServerWith(ServerOptions());
  ServerOptions options;
  options.port = server_->port();
  const auto second = StartServer(&service_, options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_EQ(second.status().message(),
            Concat("cannot listen on 127.0.0.1:", server_->port(),
                   ": address already in use"));
}

TEST_F(ServerTest, HostThatIsNoneIsUnavailable) {
  ServerOptions options;
  options.host = "no such host";
  EXPECT_EQ(StartServer(&service_, options).status().code(),
            Code::kUnavailable);
}

TEST_F(ServerTest, HostMayBeAName) {
  ServerOptions options;
  options.host = "localhost";
  StartServerWith(options);
  EXPECT_NE(server_->port(), 0);
}

TEST_F(ServerTest, OptionsOutOfRangeAreRefused) {
  ServerOptions options;
  options.io_threads = 0;
  EXPECT_EQ(StartServer(&service_, options).status().code(),
            Code::kInvalidArgument);
  options = ServerOptions();
  options.max_in_flight = 0;
  EXPECT_EQ(StartServer(&service_, options).status().code(),
            Code::kInvalidArgument);
  options = ServerOptions();
  options.request_seconds = 0;
  EXPECT_EQ(StartServer(&service_, options).status().code(),
            Code::kInvalidArgument);
}

TEST_F(ServerTest, UnknownTableIsAnErrorReplyAndTheConnectionGoesOn) {
  StartServerWith(ServerOptions());
  RawSocket client = Connect();
  client.Send(LookupFrame(7, "nobody made this"));
  EXPECT_EQ(ExpectError(&client, 7).code(), Code::kNotFound);
  ExpectServed(&client, 8);
}

TEST_F(ServerTest, UndecodableBodyIsAnErrorReplyAndTheConnectionGoesOn) {
  StartServerWith(ServerOptions());
  RawSocket client = Connect();
  for (const MessageType type :
       {kRequestType<CreateTableRequest>, kRequestType<LookupRequest>,
        kRequestType<UpdateRequest>, kRequestType<StatsRequest>,
        kRequestType<ExportRequest>, kRequestType<AssignRequest>,
        kRequestType<RemoveRequest>, kRequestType<DropTableRequest>}) {
    OutFrame frame;
    frame.head.assign(kFrameHeaderBytes + 5, 0xff);
    SealFrame(type, 7, &frame);
    client.Send(frame);
    EXPECT_EQ(ExpectError(&client, 7).code(), Code::kDataLoss);
  }
  ExpectServed(&client, 8);
  EXPECT_EQ(AskForStats().bad_frames, 0u);
}

TEST_F(ServerTest, ReplyOverTheLimitIsAnErrorReplyAndTheConnectionGoesOn) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  StartServerWith(options);
  RawSocket client = Connect();
  // 100 ids fit a body of 1000 bytes, their rows do not.
  client.Send(LookupFrame(7, kTable, 100));
  EXPECT_EQ(ExpectError(&client, 7).code(), Code::kResourceExhausted);
  ExpectServed(&client, 8);
}

TEST_F(ServerTest, PageOverTheLimitIsAnErrorReplyAndTheConnectionGoesOn) {
  AssignRows(&service_, kTable, FirstIds(1000), 0);
  ServerOptions options;
  options.max_body_bytes = 200;
  StartServerWith(options);
  RawSocket client = Connect();
  ExportRequest request;
  request.table = HashName(kTable);
  request.max_rows = 1000;
  client.Send(EncodeRequest(7, request));
  const Status status = ExpectError(&client, 7);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("ask for fewer rows"), std::string::npos);
  ExpectServed(&client, 8);
}

TEST_F(ServerTest, RepliesComeAsTheyAreReady) {
  StartServerWith(ServerOptions());
  service_.Hold();
  RawSocket client = Connect();
  client.Send(LookupFrame(1));
  service_.WaitForHeld(1);
  client.Send(LookupFrame(2));
  service_.WaitForHeld(2);
  service_.ReleaseNewest();
  EXPECT_EQ(client.ReceiveFrame().header.request_id, 2u);
  service_.ReleaseAll();
  EXPECT_EQ(client.ReceiveFrame().header.request_id, 1u);
}

TEST_F(ServerTest, WorksOnAtMostMaxInFlightRequestsOfAConnection) {
  ServerOptions options;
  options.max_in_flight = 2;
  options.io_threads = 1;
  StartServerWith(options);
  service_.Hold();
  RawSocket client = Connect();
  for (uint64_t id = 1; id <= 5; ++id) client.Send(LookupFrame(id));
  service_.WaitForHeld(2);
  // The same thread serves another connection; by then it could have read the
  // third request.
  RawSocket other = Connect();
  other.Send(LookupFrame(1));
  service_.WaitForHeld(3);
  EXPECT_EQ(service_.most_held(), 3u);
  service_.ReleaseAll();
  std::vector<bool> replied(6);
  for (int i = 0; i < 5; ++i) {
    const RawFrame reply = client.ReceiveFrame();
    ASSERT_TRUE(reply.ok);
    ASSERT_LE(reply.header.request_id, 5u);
    replied[reply.header.request_id] = true;
  }
  EXPECT_EQ(replied, (std::vector<bool>{false, true, true, true, true, true}));
}

TEST_F(ServerTest, LargeRequestAndReplyComeWhole) {
  StartServerWith(ServerOptions());
  constexpr size_t kCount = 300000;
  RawSocket client = Connect();
  client.Send(LookupFrame(1, kTable, kCount));
  EXPECT_EQ(DecodeRows(client.ReceiveFrame(), kCount),
            LookUpRows(&service_, kTable, ids_));
}

TEST_F(ServerTest, StatsNameTheServerAndCountItsConnections) {
  StartServerWith(ServerOptions());
  RawSocket client = Connect();
  ExpectServed(&client);
  const ServiceStats stats = AskForStats();
  EXPECT_EQ(stats.address, Concat("127.0.0.1:", server_->port()));
  EXPECT_GE(stats.connections, 2u);  // The client's, and the one that asks.
  EXPECT_EQ(stats.bad_frames, 0u);
  EXPECT_GE(stats.lookups, 1u);
  ASSERT_EQ(stats.tables.size(), 1u);
  EXPECT_EQ(stats.tables[0].name, kTable);
}

TEST_F(ServerTest, StatsCountRequestsByTypeAndBytes) {
  StartServerWith(ServerOptions());
  RawSocket client = Connect();
  ExpectServed(&client, 1);
  client.Send(LookupFrame(2, "nobody made this"));
  EXPECT_FALSE(ExpectError(&client, 2).ok());
  const ServiceStats stats = AskForStats();
  ASSERT_EQ(stats.requests.size(), 1u);  // The request that asks has no reply.
  const RequestStats& lookups = stats.requests[0];
  EXPECT_EQ(lookups.request, "lookup");
  EXPECT_EQ(lookups.failed, 1u);
  ASSERT_EQ(lookups.latency.buckets.size(), LatencyHistogram::kBuckets);
  uint64_t count = 0;
  for (const uint64_t bucket : lookups.latency.buckets) count += bucket;
  EXPECT_EQ(count, 2u);
  EXPECT_GT(lookups.latency.nanoseconds, 0u);
  const uint64_t sent = TotalBytes(LookupFrame(1)) +
                        TotalBytes(LookupFrame(2, "nobody made this")) +
                        TotalBytes(EncodeRequest(1, StatsRequest()));
  EXPECT_EQ(stats.bytes_in, sent);
  EXPECT_GT(stats.bytes_out, 3 * kRowDim * sizeof(float));
}

TEST_F(ServerTest, ConnectionsThatEndAreNotCounted) {
  StartServerWith(ServerOptions());
  for (int i = 0; i < 3; ++i) {
    RawSocket client = Connect();
    ExpectServed(&client);
  }
  // Each request for the counters has a connection of its own.
  const Deadline deadline = Clock::now() + kHang;
  while (AskForStats().connections > 1 && Clock::now() < deadline) {
  }
  const ServiceStats stats = AskForStats();
  EXPECT_LE(stats.connections, 2u);
  EXPECT_EQ(stats.bad_frames, 0u);
}

// A service that asks other processes for counters, as an embedding worker
// does.
class ServiceOfTwoShards : public HoldingService {
 public:
  void Stats(StatsRequest* request, DoneCallback done) override {
    request->processes.assign(2, ServiceStats());
    request->processes[0].address = "shard:1";
    request->processes[1].address = "shard:2";
    done(Status());
  }
};

TEST_F(ServerTest, StatsOfAServerInFrontOfShardsBeginWithItsOwn) {
  ServiceOfTwoShards service;
  auto server = StartServer(&service, ServerOptions());
  ASSERT_TRUE(server.ok());
  RawSocket client = RawSocket::Connect((*server)->port());
  client.Send(EncodeRequest(1, StatsRequest()));
  StatsRequest answered;
  ASSERT_TRUE(DecodeReply(client.ReceiveFrame().body, &answered).ok());
  const std::vector<ServiceStats>& processes = answered.processes;
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[0].address, Concat("127.0.0.1:", (*server)->port()));
  EXPECT_EQ(processes[0].connections, 1u);
  EXPECT_EQ(processes[1].address, "shard:1");
  EXPECT_EQ(processes[2].address, "shard:2");
}

}  // namespace
}  // namespace persia
