// What a client does when shards, or the way to them, fail.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/crc32c.h"
#include "cc/wire/messages.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

// A port on which no server listens.
uint16_t ClosedPort() { return RawListener().port(); }

// The reply to a lookup of `ids` ids: each row is all ones.
OutFrame OnesReply(uint64_t request_id, std::vector<float>* memory,
                   size_t ids) {
  memory->assign(ids * kRowDim, 1.0f);
  return EncodeLookupReply(request_id, /*generation=*/0, WireDtype::kFloat32,
                           {AsWireVectors(*memory).bytes});
}

std::vector<uint8_t> Bytes(const OutFrame& frame) {
  std::vector<uint8_t> bytes = frame.head;
  for (const ConstBytes part : frame.payload) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

void ExpectParts(const Status& status, const std::string& start,
                 const std::string& end) {
  const std::string& message = status.message();
  ASSERT_GE(message.size(), start.size() + end.size()) << message;
  EXPECT_EQ(message.substr(0, start.size()), start);
  EXPECT_EQ(message.substr(message.size() - end.size()), end);
}

TEST(FaultsTest, DeadShardFailsTheCallAndIsNamed) {
  Shard alive;
  CreateRowTable(alive.service(), kUser);
  const std::string dead = LocalHost(ClosedPort());
  const auto client = MakeClient({alive.address(), dead});
  const PendingLookup lookup(client.get(), kUser, FirstIds(100), 0.25);
  const Status status = lookup.Wait();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  ExpectParts(status,
              Concat("shard 1 of 2 (", dead, ") did not answer within 0."),
              " s: connection refused (is it running?)");
}

TEST(FaultsTest, NameThatDoesNotResolveIsTold) {
  const auto client = MakeClient({"no-such-host.invalid:1"});
  const PendingLookup lookup(client.get(), kUser, FirstIds(1), 0.25);
  EXPECT_EQ(lookup.Wait().code(), Code::kUnavailable);
  ExpectParts(lookup.Wait(),
              "shard 0 of 1 (no-such-host.invalid:1) did not answer within 0.",
              "");
}

TEST(FaultsTest, SilentShardExceedsTheDeadlineAndIsNamed) {
  Cluster cluster(2);
  cluster.shard(1).service()->Hold();
  const PendingLookup lookup(cluster.client(), kUser, FirstIds(100), 0.2);
  EXPECT_EQ(lookup.Wait().code(), Code::kDeadlineExceeded);
  ExpectParts(lookup.Wait(),
              Concat("shard 1 of 2 (", cluster.shard(1).address(),
                     ") did not answer within 0."),
              " s");
}

TEST(FaultsTest, LateReplyIsIgnoredAndTheConnectionGoesOn) {
  Cluster cluster(1);
  HoldingService* const service = cluster.shard(0).service();
  service->Hold();
  {
    // The lookup's memory is freed at the end of this block.
    const PendingLookup lookup(cluster.client(), kUser, FirstIds(10), 0.4);
    EXPECT_EQ(lookup.Wait().code(), Code::kDeadlineExceeded);
  }
  service->WaitForHeld(1);
  service->ReleaseAll();
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, {1}),
            LookUpRows(service, kUser, {1}));
  EXPECT_EQ(StatsOf(cluster.client())[0].connections, 1u);
}

TEST(FaultsTest, DeadlinesAreEachRequestsOwn) {
  Cluster cluster(1);
  HoldingService* const service = cluster.shard(0).service();
  service->Hold();
  const PendingLookup patient(cluster.client(), kUser, FirstIds(10), 30);
  const PendingLookup hasty(cluster.client(), kUser, FirstIds(10), 0.1);
  EXPECT_EQ(hasty.Wait().code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(patient.ready());
  service->ReleaseAll();
  EXPECT_TRUE(patient.Wait().ok());
}

TEST(FaultsTest, RequestsWaitForAServerThatStartsLater) {
  const uint16_t port = ClosedPort();
  const auto client = MakeClient({LocalHost(port)});
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  RawListener listener(port);
  RawSocket server = listener.Accept();
  const RawFrame request = server.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  std::vector<float> memory;
  server.Send(OnesReply(request.header.request_id, &memory, 2));
  EXPECT_TRUE(lookup.Wait().ok());
  EXPECT_EQ(lookup.rows(), memory);
}

TEST(FaultsTest, RequestsInFlightAreSentAgainToARestartedServer) {
  Cluster cluster(1);
  HoldingService* const service = cluster.shard(0).service();
  const std::vector<int64_t> ids = FirstIds(100);
  const std::vector<float> rows = LookUpRows(cluster.client(), kUser, ids);
  service->Hold();
  std::vector<std::unique_ptr<PendingLookup>> lookups;
  for (int i = 0; i < 5; ++i) {
    lookups.push_back(
        std::make_unique<PendingLookup>(cluster.client(), kUser, ids));
  }
  service->WaitForHeld(5);
  cluster.shard(0).Kill();
  service->ReleaseAll();  // The connection of those answers is gone.
  for (const auto& lookup : lookups) EXPECT_FALSE(lookup->ready());
  cluster.shard(0).Restart();
  for (const auto& lookup : lookups) {
    EXPECT_TRUE(lookup->Wait().ok()) << lookup->Wait().message();
    EXPECT_EQ(lookup->rows(), rows);
  }
}

TEST(FaultsTest, UpdateWhoseReplyWasLostIsAppliedOnce) {
  Cluster cluster(1);
  HoldingService* const service = cluster.shard(0).service();
  const std::vector<int64_t> ids = {5};
  const std::vector<float> before = LookUpRows(cluster.client(), kUser, ids);
  service->Hold();
  const PendingUpdate update(cluster.client(), kUser, ids, 1, 1);
  service->WaitForHeld(1);  // It is applied, but the client was not told.
  cluster.shard(0).Kill();
  service->ReleaseAll();
  cluster.shard(0).Restart();
  ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
  std::vector<float> expected = before;
  for (float& weight : expected) weight -= 1.0f;
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), expected);
  EXPECT_EQ(StatsOf(cluster.client())[0].repeated_updates, 1u);
}

TEST(FaultsTest, UpdateWhoseFirstArrivalIsInProgressIsSentAgain) {
  Cluster cluster(1);
  LookUpRows(cluster.client(), kUser, {5});
  HoldingService* const service = cluster.shard(0).service();
  service->FailNext(3, Status(Code::kUnavailable, "it is being applied"));
  const PendingUpdate update(cluster.client(), kUser, {5}, 1, 1);
  EXPECT_TRUE(update.Wait().ok()) << update.Wait().message();
  EXPECT_EQ(update.counts().applied, 1u);
  EXPECT_EQ(service->failures_left(), 0);
}

TEST(FaultsTest, UpdateThatStaysInProgressFailsAtItsDeadline) {
  Cluster cluster(1);
  cluster.shard(0).service()->FailNext(
      1 << 30, Status(Code::kUnavailable, "it is being applied"));
  const PendingUpdate update(cluster.client(), kUser, {5}, 1, 1, 0.1);
  EXPECT_EQ(update.Wait().code(), Code::kDeadlineExceeded);
  EXPECT_NE(update.Wait().message().find("it is being applied"),
            std::string::npos);
}

TEST(FaultsTest, UnavailableLookupIsNotSentAgain) {
  Cluster cluster(1);
  cluster.shard(0).service()->FailNext(
      1, Status(Code::kUnavailable, "a restore is in progress"));
  const PendingLookup lookup(cluster.client(), kUser, {5});
  EXPECT_EQ(lookup.Wait().code(), Code::kUnavailable);
}

// The client's first connection brings `broken`, its second one the reply.
void ExpectHealsAfter(
    const std::function<void(RawSocket*, const OutFrame&)>& send_broken) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  std::vector<float> memory;
  {
    RawSocket server = listener.Accept();
    const RawFrame request = server.ReceiveFrame();
    ASSERT_TRUE(request.ok);
    send_broken(&server, OnesReply(request.header.request_id, &memory, 2));
  }
  RawSocket server = listener.Accept();
  const RawFrame request = server.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  server.Send(OnesReply(request.header.request_id, &memory, 2));
  EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
  EXPECT_EQ(lookup.rows(), memory);
}

TEST(FaultsTest, CorruptHeaderIsAskedForAgain) {
  ExpectHealsAfter([](RawSocket* server, const OutFrame& reply) {
    std::vector<uint8_t> bytes = Bytes(reply);
    bytes[17] ^= 1;
    server->Send(bytes);
    EXPECT_TRUE(server->WaitForEnd());
  });
}

TEST(FaultsTest, CorruptBodyIsAskedForAgain) {
  ExpectHealsAfter([](RawSocket* server, const OutFrame& reply) {
    std::vector<uint8_t> bytes = Bytes(reply);
    bytes.back() ^= 1;
    server->Send(bytes);
    EXPECT_TRUE(server->WaitForEnd());
  });
}

TEST(FaultsTest, AnotherProtocolIsLeftAndAskedAgain) {
  ExpectHealsAfter([](RawSocket* server, const OutFrame&) {
    server->Send(std::vector<uint8_t>(100, 'x'));
    EXPECT_TRUE(server->WaitForEnd());
  });
}

TEST(FaultsTest, ReplyThatEndsEarlyIsAskedForAgain) {
  ExpectHealsAfter([](RawSocket* server, const OutFrame& reply) {
    std::vector<uint8_t> bytes = Bytes(reply);
    bytes.pop_back();
    server->Send(bytes);
  });
}

TEST(FaultsTest, ReplyToNobodyIsIgnored) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  RawSocket server = listener.Accept();
  const RawFrame request = server.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  std::vector<float> memory;
  server.Send(OnesReply(request.header.request_id + 1000, &memory, 2));
  server.Send(OnesReply(request.header.request_id, &memory, 2));
  EXPECT_TRUE(lookup.Wait().ok());
}

// How a lookup of two ids ends if the server sends `reply`.
Status OutcomeOf(const std::function<OutFrame(uint64_t)>& reply) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  RawSocket server = listener.Accept();
  server.Send(reply(server.ReceiveFrame().header.request_id));
  return lookup.Wait();
}

TEST(FaultsTest, ReplyOfAnotherSizeFailsTheCall) {
  std::vector<float> memory;
  EXPECT_EQ(
      OutcomeOf([&](uint64_t id) { return OnesReply(id, &memory, 3); }).code(),
      Code::kDataLoss);
}

TEST(FaultsTest, ReplyOfAnotherDtypeFailsTheCall) {
  // Just as many bytes as the right reply has.
  const std::vector<uint8_t> rows(2 * kRowDim * sizeof(float));
  EXPECT_EQ(OutcomeOf([&](uint64_t id) {
              return EncodeLookupReply(id, /*generation=*/0,
                                       WireDtype::kBfloat16, {rows});
            }).code(),
            Code::kDataLoss);
}

TEST(FaultsTest, ReplyOfAnotherTypeFailsTheCall) {
  EXPECT_EQ(OutcomeOf([](uint64_t id) {
              return EncodeReply(id, UpdateRequest());
            }).code(),
            Code::kDataLoss);
}

TEST(FaultsTest, ServerOfAnotherVersionFailsTheCallAtOnce) {
  const Status status = OutcomeOf([](uint64_t id) {
    return OfVersion(kProtocolVersion + 1,
                     EncodeError(id, Status(Code::kFailedPrecondition, "?")));
  });
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find(
                Concat("this client speaks protocol version ", kProtocolVersion,
                       ", the server ", kProtocolVersion + 1,
                       ": use the same persia_tf version on both")),
            std::string::npos)
      << status.message();
  EXPECT_EQ(status.message().find("shard 0 of 1 (127.0.0.1:"), 0u);
}

TEST(FaultsTest, ReplyBeforeTheRequestWasWrittenWaitsForIt) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  // 16 MB of gradients, more than sockets take.
  const std::vector<int64_t> ids = FirstIds(1 << 20);
  const PendingUpdate update(client.get(), kUser, ids, 1, 1);
  RawSocket server = listener.Accept();
  server.Send(EncodeError(1, Status(Code::kResourceExhausted, "too long")));
  EXPECT_TRUE(server.ReceiveFrame().ok);
  EXPECT_EQ(update.Wait().code(), Code::kResourceExhausted);
}

TEST(FaultsTest, RequestThatIsNotTakenByItsDeadlineFreesItsMemory) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  {
    const std::vector<int64_t> ids = FirstIds(1 << 20);
    const PendingUpdate update(client.get(), kUser, ids, 1, 1, 0.4);
    EXPECT_EQ(update.Wait().code(), Code::kDeadlineExceeded);
  }
  // The first connection brings half a frame, and nothing more.
  RawSocket first = listener.Accept();
  EXPECT_FALSE(first.ReceiveFrame().ok);
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  RawSocket second = listener.Accept();
  std::vector<float> memory;
  const RawFrame request = second.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  second.Send(OnesReply(request.header.request_id, &memory, 2));
  EXPECT_TRUE(lookup.Wait().ok());
}

// Rows are read right into the caller's memory.
TEST(FaultsTest, ReplyThatStopsMidwayFreesItsRowsAtTheDeadline) {
  RawListener listener;
  const auto client = MakeClient({LocalHost(listener.port())});
  const std::vector<int64_t> ids = FirstIds(2);
  std::vector<float> memory;
  std::vector<uint8_t> reply;
  {
    const PendingLookup lookup(client.get(), kUser, ids, 0.4);
    RawSocket first = listener.Accept();
    const RawFrame request = first.ReceiveFrame();
    ASSERT_TRUE(request.ok);
    reply = Bytes(OnesReply(request.header.request_id, &memory, 2));
    reply.resize(reply.size() - 4);
    first.Send(reply);
    EXPECT_EQ(lookup.Wait().code(), Code::kDeadlineExceeded);
    // The connection is closed, so that nothing can reach the rows any more.
    EXPECT_TRUE(first.WaitForEnd());
  }
  const PendingLookup lookup(client.get(), kUser, ids);
  RawSocket second = listener.Accept();
  const RawFrame request = second.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  second.Send(OnesReply(request.header.request_id, &memory, 2));
  EXPECT_TRUE(lookup.Wait().ok());
  EXPECT_EQ(lookup.rows(), memory);
}

TEST(FaultsTest, DestroyingAClientCancelsItsCalls) {
  Cluster cluster(2);
  for (size_t i = 0; i < 2; ++i) cluster.shard(i).service()->Hold();
  const PendingLookup lookup(cluster.client(), kUser, FirstIds(100));
  const PendingUpdate update(cluster.client(), kUser, FirstIds(100), 1, 1);
  for (size_t i = 0; i < 2; ++i) cluster.shard(i).service()->WaitForHeld(2);
  cluster.DestroyClient();
  EXPECT_TRUE(lookup.ready());
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
  EXPECT_EQ(update.Wait().code(), Code::kCancelled);
}

TEST(FaultsTest, DestroyingAClientThatCannotConnectCancelsItsCalls) {
  auto client = MakeClient({LocalHost(ClosedPort()), LocalHost(ClosedPort())});
  const PendingLookup lookup(client.get(), kUser, FirstIds(100));
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST(FaultsTest, DestroyingAClientThatDidNothingIsFine) {
  MakeClient({LocalHost(ClosedPort())});
}

}  // namespace
}  // namespace persia
