#include "cc/client/wire_counters.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

class WireCountersTest : public testing::Test {
 protected:
  std::unique_ptr<EmbeddingService> CountedClient(
      const std::vector<std::string>& addresses,
      WireDtype dtype = WireDtype::kFloat32) {
    RemoteServiceOptions options;
    options.counters = counters_;
    options.wire_dtype = dtype;
    return MakeClient(addresses, options);
  }

  const std::shared_ptr<WireCounters> counters_ =
      std::make_shared<WireCounters>();
};

TEST_F(WireCountersTest, CountWholeFrames) {
  RawListener listener;
  const auto client = CountedClient({LocalHost(listener.port())});
  const PendingLookup lookup(client.get(), kUser, FirstIds(2));
  RawSocket server = listener.Accept();
  const RawFrame request = server.ReceiveFrame();
  ASSERT_TRUE(request.ok);
  EXPECT_EQ(counters_->bytes_in, 0u);
  const std::vector<float> rows(2 * kRowDim);
  const OutFrame reply =
      EncodeLookupReply(request.header.request_id, 0, WireDtype::kFloat32,
                        {AsWireVectors(rows).bytes});
  server.Send(reply);
  ASSERT_TRUE(lookup.Wait().ok());
  EXPECT_EQ(counters_->bytes_out, kFrameHeaderBytes + request.body.size());
  EXPECT_EQ(counters_->bytes_in, kFrameHeaderBytes + 16 + 2 * kRowDim * 4);
  EXPECT_EQ(counters_->requests, 1u);
  EXPECT_EQ(counters_->retries, 0u);
  EXPECT_EQ(counters_->reconnects, 0u);
}

TEST_F(WireCountersTest, SumAllShardsAndCalls) {
  Cluster cluster(3);
  const auto client = CountedClient(cluster.addresses());
  LookUpRows(client.get(), kUser, FirstIds(100));
  LookUpRows(client.get(), kUser, FirstIds(100));
  EXPECT_EQ(counters_->requests, 6u);
  // Frame headers, fixed parts and a table's record; and ids and rows.
  EXPECT_EQ(counters_->bytes_out, 6 * (32u + 40 + 48) + 200 * 8);
  EXPECT_EQ(counters_->bytes_in, 6 * (32u + 16) + 200 * kRowDim * 4);
}

TEST_F(WireCountersTest, ShowWhatADtypeSaves) {
  Cluster cluster(1);
  const auto int8 = CountedClient(cluster.addresses(), WireDtype::kInt8);
  LookUpRows(int8.get(), kUser, FirstIds(100));
  const uint64_t of_int8 = counters_->bytes_in;
  EXPECT_EQ(of_int8, 32u + 16 + 100 * (4 + kRowDim));
  const auto int4 = CountedClient(cluster.addresses(), WireDtype::kInt4);
  LookUpRows(int4.get(), kUser, FirstIds(100));
  EXPECT_EQ(counters_->bytes_in - of_int8, 32u + 16 + 100 * (2 + kRowDim / 2));
}

TEST_F(WireCountersTest, RequestsSentAfterAReconnectAreRetries) {
  Cluster cluster(1);
  const auto client = CountedClient(cluster.addresses());
  HoldingService* const service = cluster.shard(0).service();
  service->Hold();
  const PendingLookup first(client.get(), kUser, FirstIds(5));
  const PendingLookup second(client.get(), kUser, FirstIds(5));
  service->WaitForHeld(2);
  cluster.shard(0).Kill();
  service->ReleaseAll();
  cluster.shard(0).Restart();
  ASSERT_TRUE(first.Wait().ok()) << first.Wait().message();
  ASSERT_TRUE(second.Wait().ok()) << second.Wait().message();
  EXPECT_EQ(counters_->requests, 2u);
  EXPECT_EQ(counters_->retries, 2u);
  EXPECT_EQ(counters_->reconnects, 1u);
}

TEST_F(WireCountersTest, RequestsThatTheServerPutOffAreRetries) {
  Cluster cluster(1);
  const auto client = CountedClient(cluster.addresses());
  LookUpRows(client.get(), kUser, {5});
  cluster.shard(0).service()->FailNext(
      3, Status(Code::kUnavailable, "it is being applied"));
  const PendingUpdate update(client.get(), kUser, {5}, 1, 1);
  ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
  // The update is refused once, and the client asks for the cluster, which it
  // does not know yet.
  EXPECT_EQ(counters_->requests, 4u);
  EXPECT_EQ(counters_->retries, 3u);
  EXPECT_EQ(counters_->reconnects, 0u);
}

}  // namespace
}  // namespace persia
