// What a short request may not make a server do.

#include <gtest/gtest.h>

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

  // All ids in one bag: one vector comes, or goes.
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
  EXPECT_EQ(client.ReceiveFrame().header.type, MessageType::kLookupReply);
}

TEST_F(LimitsTest, RowsThatAnUpdateSpreadsToAreBounded) {
  RawSocket client = Connect();
  client.Send(BagUpdate(kMostIds + 1));
  EXPECT_EQ(ExpectError(&client, 1).code(), Code::kResourceExhausted);
  client.Send(BagUpdate(kMostIds));
  EXPECT_EQ(client.ReceiveFrame().header.type, MessageType::kUpdateReply);
}

// Replies of a MiB each, so that short requests have long replies.
class SlowReaderTest : public ServerFixture {
 protected:
  static constexpr int kRequests = 200;
  // More than a socket's buffers take, less than what all replies are.
  static constexpr uint64_t kMostAnswered = 100;

  SlowReaderTest() {
    ServerOptions options;
    options.max_in_flight = kRequests;
    options.max_unwritten_bytes = 1 << 20;
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
};

TEST_F(SlowReaderTest, RepliesThatWaitForAPeerAreBounded) {
  RawSocket slow = Connect();
  for (int i = 1; i <= kRequests; ++i) slow.Send(WideLookup(i));
  const Deadline deadline = Clock::now() + kHang;
  while (AskForStats().lookups < 2 && Clock::now() < deadline) {
  }
  // By now the server has had the time to read on.
  for (int i = 0; i < 200; ++i) ASSERT_LE(AskForStats().lookups, kMostAnswered);
  for (uint64_t i = 1; i <= kRequests; ++i) {
    const RawFrame reply = slow.ReceiveFrame();
    ASSERT_EQ(reply.header.type, MessageType::kLookupReply);
    ASSERT_EQ(reply.header.request_id, i);
  }
}

}  // namespace
}  // namespace persia
