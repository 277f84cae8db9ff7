// How much of a server's memory replies take when their readers are slow.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr size_t kPeers = 12;
constexpr char kWideTable[] = "wide";
// More than a socket's buffers take.
constexpr uint64_t kReplyBytes = 16 * kMiB;
constexpr size_t kReplyIds = kReplyBytes / (kMaxDim * sizeof(float));

// Counts the bytes of rows that all lookups so far were given to fill.
class CountingService : public HoldingService {
 public:
  void Lookup(LookupRequest* request, DoneCallback done) override {
    for (const TableLookup& table : request->tables) {
      bytes_ += table.rows.size() * sizeof(float);
    }
    HoldingService::Lookup(request, std::move(done));
  }

  uint64_t bytes() const { return bytes_; }

 private:
  std::atomic<uint64_t> bytes_{0};
};

class ReplyMemoryTest : public ::testing::Test {
 protected:
  ReplyMemoryTest() {
    CreateTableRequest request;
    request.config = RowTable(kWideTable);
    request.config.dim = kMaxDim;
    request.deadline = DeadlineAfter(30);
    CallResult result;
    service_.CreateTable(&request, result.done());
    EXPECT_TRUE(result.Wait().ok());
    CreateRowTable(&service_, kTable);
    options_.max_unwritten_total_bytes = 96 * kMiB;
    options_.unread_seconds = 3600;
    options_.io_threads = 1;
    options_.events = &events_;
  }

  ~ReplyMemoryTest() override { server_.reset(); }  // Before the service.

  void Start() {
    auto server = StartServer(&service_, options_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }

  RawSocket Connect() const { return RawSocket::Connect(server_->port()); }

  static OutFrame LookupOf(const char* table, uint32_t dim, size_t count) {
    static const std::vector<int64_t> ids(kReplyIds, 1);
    LookupRequest request;
    request.read_only = true;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(table);
    request.tables[0].ids.dim = dim;
    request.tables[0].ids.ids = Span<const int64_t>(ids).first(count);
    return EncodeLookup(1, request, WireDtype::kFloat32);
  }
  static OutFrame LongLookup() {
    return LookupOf(kWideTable, kMaxDim, kReplyIds);
  }
  static OutFrame ShortLookup() { return LookupOf(kTable, kRowDim, 3); }

  // Each peer asks for a large reply, and reads nothing.
  std::vector<RawSocket> ConnectPeers(size_t count = kPeers) const {
    std::vector<RawSocket> peers;
    for (size_t p = 0; p < count; ++p) {
      peers.push_back(Connect());
      peers.back().Send(LongLookup());
    }
    return peers;
  }

  // When small requests are served, the server has received what was sent
  // before.
  void ExpectSmallRequestsServed() {
    for (int i = 0; i < 20; ++i) {
      RawSocket other = Connect();
      for (int j = 0; j < 5; ++j) {
        other.Send(ShortLookup());
        EXPECT_EQ(other.ReceiveFrame().header.type, kReplyType<LookupRequest>);
        other.Send(EncodeRequest(1, StatsRequest()));
        EXPECT_EQ(other.ReceiveFrame().header.type, kReplyType<StatsRequest>);
      }
    }
  }

  CountingService service_;
  EventLog events_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(ReplyMemoryTest, AReplyOfEachOfManyPeersIsWithinTheBound) {
  Start();
  std::vector<RawSocket> peers = ConnectPeers();
  ExpectSmallRequestsServed();
  // The small requests have taken very little.
  EXPECT_LT(service_.bytes(), options_.max_unwritten_total_bytes);
  // As these replies are read, the other replies are made.
  for (RawSocket& peer : peers) {
    const RawFrame reply = peer.ReceiveFrame();
    EXPECT_EQ(reply.header.type, kReplyType<LookupRequest>);
    EXPECT_GT(reply.header.body_bytes, kReplyBytes);
  }
  EXPECT_GE(service_.bytes(), kPeers * kReplyBytes);
  EXPECT_FALSE(events_.Take(Clock::now()));
}

TEST_F(ReplyMemoryTest, RowsOfRequestsUnderWayAreWithinTheBound) {
  Start();
  service_.Hold();
  std::vector<RawSocket> peers = ConnectPeers();
  service_.WaitForHeld(2);
  RawSocket other = Connect();
  for (int i = 0; i < 20; ++i) other.Send(ShortLookup());
  service_.WaitForHeld(2 + 20);
  EXPECT_LT(service_.bytes(), options_.max_unwritten_total_bytes);
  service_.ReleaseAll();
  for (RawSocket& peer : peers) {
    EXPECT_EQ(peer.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  }
}

// A service still works on requests of a connection that has ended.
TEST_F(ReplyMemoryTest, RowsOfConnectionsThatEndedAreWithinTheBound) {
  Start();
  service_.Hold();
  { const std::vector<RawSocket> peers = ConnectPeers(); }
  service_.WaitForHeld(2);
  std::vector<RawSocket> peers = ConnectPeers();
  RawSocket other = Connect();
  for (int i = 0; i < 20; ++i) other.Send(ShortLookup());
  service_.WaitForHeld(2 + 20);
  EXPECT_LT(service_.bytes(), options_.max_unwritten_total_bytes);
  service_.ReleaseAll();
  for (RawSocket& peer : peers) {
    EXPECT_EQ(peer.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  }
}

TEST_F(ReplyMemoryTest, ThoseThatReadNothingMakeRoomForOthers) {
  options_.unread_seconds = 0.2;
  Start();
  const std::vector<RawSocket> peers = ConnectPeers(5);
  RawSocket reader = Connect();
  reader.Send(LongLookup());
  EXPECT_EQ(reader.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  const std::optional<Event> event = events_.Take(DeadlineAfter(30));
  ASSERT_TRUE(event);
  EXPECT_NE(event->text.find("did not read its next reply within "),
            std::string::npos)
      << event->text;
}

TEST_F(ReplyMemoryTest, ARequestThatGetsNoRoomInTimeIsToldSo) {
  options_.unread_seconds = 1;  // Checked every tenth of it.
  options_.request_seconds = 0.3;
  options_.max_unwritten_total_bytes = 8 * kMiB;
  Start();
  service_.Hold();
  RawSocket first = Connect();
  first.Send(LongLookup());  // More than all the room: admitted when alone.
  service_.WaitForHeld(1);
  RawSocket second = Connect();
  second.Send(LongLookup());
  const RawFrame reply = second.ReceiveFrame();
  ASSERT_EQ(reply.header.type, MessageType::kError);
  const Status status = DecodeError(reply.body);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("no room for the reply"), std::string::npos);
  service_.ReleaseAll();
  EXPECT_EQ(first.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  second.Send(LongLookup());
  EXPECT_EQ(second.ReceiveFrame().header.type, kReplyType<LookupRequest>);
}

}  // namespace
}  // namespace persia
