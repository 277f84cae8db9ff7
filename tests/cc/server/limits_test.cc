// What a short request may not make a server do.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

constexpr uint64_t kMaxBytes = 4096;
constexpr size_t kMostIds = kMaxBytes / (kRowDim * sizeof(float));

class LimitsTest : public ServerFixture {
 protected:
  LimitsTest() {
    ServerOptions options;
    options.max_body_bytes = kMaxBytes;
    StartServerWith(options);
  }

  // All ids in one bag, so a lookup gives one vector, and an update takes one.
  TableIds OneBag(size_t ids) {
    ids_ = FirstIds(ids);
    offsets_ = {0, static_cast<uint32_t>(ids)};
    TableIds bag;
    bag.table = HashName(kTable);
    bag.dim = kRowDim;
    bag.ids = ids_;
    bag.combiner = Combiner::kSum;
    bag.bag_offsets = offsets_;
    return bag;
  }

  OutFrame BagLookup(size_t ids) {
    LookupRequest request;
    request.tables.push_back({OneBag(ids), {}});
    return EncodeLookup(1, request, WireDtype::kFloat32);
  }

  OutFrame BagUpdate(size_t ids) {
    UpdateRequest request;
    request.tables.push_back({OneBag(ids), {}, 1.0f});
    return EncodeUpdate(1, request, {AsWireVectors(gradient_)});
  }

  const std::vector<float> gradient_ = std::vector<float>(kRowDim);
  std::vector<uint32_t> offsets_;
};

TEST_F(LimitsTest, RowsThatALookupPoolsAreBounded) {
  RawSocket client = Connect();
  client.Send(BagLookup(kMostIds + 1));
  const Status status = ExpectError(&client, 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "the rows of this request's bags have 4112 bytes, over the limit "
            "of 4096: send fewer ids at once");
  client.Send(BagLookup(kMostIds));
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<LookupRequest>);
}

TEST_F(LimitsTest, RowsThatAnUpdateSpreadsToAreBounded) {
  RawSocket client = Connect();
  client.Send(BagUpdate(kMostIds + 1));
  EXPECT_EQ(ExpectError(&client, 1).code(), Code::kResourceExhausted);
  client.Send(BagUpdate(kMostIds));
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<UpdateRequest>);
}

class RequestLimitsTest : public ServerFixture {
 protected:
  RequestLimitsTest() {
    ServerOptions options;
    options.request.tables = 2;
    options.request.ids = 10;
    StartServerWith(options);
    ids_ = FirstIds(10);
  }

  TableIds Ids(size_t count) {
    TableIds ids;
    ids.table = HashName(kTable);
    ids.dim = kRowDim;
    ids.ids = Span<const int64_t>(ids_).first(count);
    return ids;
  }

  OutFrame LookupOf(size_t tables, size_t ids) {
    LookupRequest request;
    request.tables.assign(tables, {Ids(ids), {}});
    return EncodeLookup(1, request, WireDtype::kFloat32);
  }

  OutFrame UpdateOf(size_t tables, size_t ids) {
    const auto gradients = Span<const float>(gradients_).first(ids * kRowDim);
    UpdateRequest request;
    request.tables.assign(tables, {Ids(ids), {}, 1.0f});
    return EncodeUpdate(
        1, request, std::vector<WireVectors>(tables, AsWireVectors(gradients)));
  }

  const std::vector<float> gradients_ = std::vector<float>(10 * kRowDim);
};

TEST_F(RequestLimitsTest, TablesOfARequest) {
  RawSocket client = Connect();
  for (const OutFrame& frame : {LookupOf(3, 1), UpdateOf(3, 1)}) {
    client.Send(frame);
    const Status status = ExpectError(&client, 1);
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_EQ(status.message(),
              "a request must have at most 2 tables, received 3: send fewer at "
              "once, or raise --max-request-tables of the server");
  }
  client.Send(LookupOf(2, 5));
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  client.Send(UpdateOf(2, 5));
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<UpdateRequest>);
}

TEST_F(RequestLimitsTest, IdsOfARequest) {
  RawSocket client = Connect();
  for (const OutFrame& frame : {LookupOf(2, 6), UpdateOf(2, 6)}) {
    client.Send(frame);
    const Status status = ExpectError(&client, 1);
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_EQ(status.message(),
              "a request must have at most 10 ids, received 12: send fewer at "
              "once, or raise --max-request-ids of the server");
  }
}

TEST_F(RequestLimitsTest, IdsToAssignAndRemove) {
  const std::vector<int64_t> ids = FirstIds(11);
  const std::vector<float> weights(ids.size() * kRowDim);
  RawSocket client = Connect();
  AssignRequest assign;
  assign.table = HashName(kTable);
  assign.dim = kRowDim;
  assign.ids = ids;
  assign.weights = weights;
  client.Send(EncodeRequest(1, assign));
  EXPECT_EQ(ExpectError(&client, 1).code(), Code::kResourceExhausted);
  RemoveRequest remove;
  remove.table = HashName(kTable);
  remove.ids = ids;
  client.Send(EncodeRequest(2, remove));
  EXPECT_EQ(ExpectError(&client, 2).code(), Code::kResourceExhausted);
}

// Requests that are short, with replies of a MiB each.
class SlowReaderTest : public ServerFixture {
 protected:
  static constexpr int kRequests = 200;
  // So many replies are more than a socket's buffers take, and fewer than all.
  static constexpr uint64_t kMostAnswered = 100;

  ~SlowReaderTest() override { server_.reset(); }  // Before events_.

  void Start(ServerOptions options) {
    options.max_in_flight = kRequests;
    options.events = &events_;
    StartServerWith(options);
    CreateTableRequest request;
    request.config = RowTable("wide");
    request.config.dim = kMaxDim;
    request.deadline = DeadlineAfter(30);
    CallResult result;
    service_.CreateTable(&request, result.done());
    EXPECT_TRUE(result.Wait().ok());
  }

  OutFrame WideLookup(uint64_t request_id) {
    ids_ = FirstIds(4);
    LookupRequest request;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName("wide");
    request.tables[0].ids.dim = kMaxDim;
    request.tables[0].ids.ids = ids_;
    return EncodeLookup(request_id, request, WireDtype::kFloat32);
  }

  // A client that sends all requests, and reads no reply yet.
  RawSocket ConnectSlow() {
    RawSocket slow = Connect();
    for (int i = 1; i <= kRequests; ++i) slow.Send(WideLookup(i));
    return slow;
  }

  // Expects at most so many lookups, once the server has begun and has had the
  // time to read more requests.
  void ExpectMostAnswered(uint64_t lookups) {
    const Deadline deadline = Clock::now() + kHang;
    while (AskForStats().lookups < 2 && Clock::now() < deadline) {
    }
    for (int i = 0; i < 200; ++i) ASSERT_LE(AskForStats().lookups, lookups);
  }

  void ExpectAllReplies(RawSocket* client) {
    for (uint64_t i = 1; i <= kRequests; ++i) {
      const RawFrame reply = client->ReceiveFrame();
      ASSERT_EQ(reply.header.type, kReplyType<LookupRequest>);
      ASSERT_EQ(reply.header.request_id, i);
    }
  }

  EventLog events_;
};

TEST_F(SlowReaderTest, RepliesThatWaitForAPeerAreBounded) {
  ServerOptions options;
  options.max_unwritten_bytes = 1 << 20;
  Start(options);
  RawSocket slow = ConnectSlow();
  ExpectMostAnswered(kMostAnswered);
  ExpectAllReplies(&slow);
}

TEST_F(SlowReaderTest, RepliesThatWaitForAllPeersAreBounded) {
  constexpr int kPeers = 4;
  ServerOptions options;
  options.max_unwritten_bytes = 1u << 30;
  options.max_unwritten_total_bytes = 1 << 20;
  options.unread_seconds = 3600;
  Start(options);
  std::vector<RawSocket> peers;
  for (int p = 0; p < kPeers; ++p) peers.push_back(ConnectSlow());
  ExpectMostAnswered(kPeers * kMostAnswered);
  // Small requests of other clients are served, and a client that reads its
  // replies gets all of them.
  RawSocket other = Connect();
  for (uint64_t i = 1; i <= 10; ++i) ExpectServed(&other, i);
  std::vector<std::thread> readers;
  for (RawSocket& peer : peers) {
    readers.emplace_back([&] { ExpectAllReplies(&peer); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(events_.Take(Clock::now()));
}

TEST_F(SlowReaderTest, WhoReadsNothingIsDroppedWhenTooMuchWaits) {
  ServerOptions options;
  options.max_unwritten_bytes = 1u << 30;
  options.max_unwritten_total_bytes = 1 << 20;
  options.unread_seconds = 1;
  Start(options);
  RawSocket slow = ConnectSlow();
  RawSocket other = Connect();
  std::optional<Event> event;
  const Deadline deadline = Clock::now() + kHang;
  for (uint64_t i = 1; !event && Clock::now() < deadline; ++i) {
    ExpectServed(&other, i);
    event = events_.Take(Clock::now());
  }
  ASSERT_TRUE(event);
  EXPECT_EQ(event->level, EventLevel::kWarning);
  EXPECT_EQ(event->text.find("dropped 127.0.0.1:"), 0u) << event->text;
  EXPECT_NE(event->text.find("did not read its next reply within "),
            std::string::npos)
      << event->text;
  int replies = 0;
  while (slow.ReceiveFrame().ok) ++replies;
  EXPECT_LT(replies, kRequests);
  ExpectServed(&other, 1u << 20);
}

TEST_F(SlowReaderTest, WhoReadsNothingIsKeptWhileThereIsRoom) {
  ServerOptions options;
  options.max_unwritten_bytes = 1 << 20;
  options.unread_seconds = 1;
  Start(options);
  RawSocket slow = ConnectSlow();
  ExpectMostAnswered(kMostAnswered);
  ExpectAllReplies(&slow);
  EXPECT_FALSE(events_.Take(Clock::now()));
}

}  // namespace
}  // namespace persia
