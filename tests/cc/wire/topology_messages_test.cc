// Topology, its reply, and the topology in an Error.

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

TopologyRequest Sample() {
  TopologyRequest request;
  request.told = {1, 2, 3, 4, 5, 6, 7, 8};
  request.founds = true;
  request.member = 0xaabb;
  request.topology = {9, 8, 7};
  return request;
}

TEST(TopologyMessagesTest, TopologyHasTheseBytes) {
  ExpectBytes(Sample(), "0100000000000000\n0800000000000000\n0102030405060708");
  ExpectReplyBytes(Sample(), "bbaa000000000000\n0300000000000000\n090807");
}

TEST(TopologyMessagesTest, TopologyComesBackWhole) {
  TopologyRequest back;
  ASSERT_TRUE(
      DecodeRequest(Body(EncodeRequest(1, Sample())).bytes(), &back).ok());
  EXPECT_EQ(back.told, Sample().told);
  EXPECT_TRUE(back.founds);
  ASSERT_TRUE(DecodeReply(Body(EncodeReply(1, Sample())).bytes(), &back).ok());
  EXPECT_EQ(back.member, 0xaabbu);
  EXPECT_EQ(back.topology, Sample().topology);
}

TEST(TopologyMessagesTest, AnErrorMayCarryOne) {
  const std::vector<uint8_t> topology = {1, 2, 3};
  const Body body(EncodeError(1, Status(Code::kMoved, "gone"), topology));
  EXPECT_EQ(Hex(body.bytes()), "0a00000003000000\n04000000676f6e65\n010203");
  ConstBytes told;
  const Status status = DecodeError(body.bytes(), &told);
  EXPECT_EQ(status.code(), Code::kMoved);
  EXPECT_EQ(status.message(), "gone");
  EXPECT_EQ(std::vector<uint8_t>(told.begin(), told.end()), topology);
  EXPECT_EQ(DecodeError(body.bytes()).code(), Code::kMoved);
}

TEST(TopologyMessagesTest, ATopologyBeyondAnErrorsBodyIsRefused) {
  std::vector<uint8_t> bytes =
      Body(EncodeError(1, Status(Code::kMoved, "gone"))).copy();
  bytes[4] = 1;
  EXPECT_EQ(DecodeError(Body(bytes).bytes()).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace persia
