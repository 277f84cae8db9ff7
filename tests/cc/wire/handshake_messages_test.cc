#include "cc/wire/handshake_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

// 0x20 .. 0x3f and 0x40 .. 0x5f.
std::array<uint8_t, 32> Counting(uint8_t first) {
  std::array<uint8_t, 32> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(first + i);
  }
  return bytes;
}

constexpr char kFrom20[] =
    "2021222324252627\n28292a2b2c2d2e2f\n3031323334353637\n38393a3b3c3d3e3f";
constexpr char kFrom40[] =
    "4041424344454647\n48494a4b4c4d4e4f\n5051525354555657\n58595a5b5c5d5e5f";

// Version 4; request 0.
std::string HeadOf(const OutFrame& frame) {
  return Hex(ConstBytes(frame.head.data(), 24));
}

TEST(HandshakeMessagesTest, HelloHasTheseBytes) {
  const OutFrame frame = EncodeHello(Counting(0x20));
  EXPECT_EQ(HeadOf(frame),
            "505253310e006400\n0000000000000000\n2000000000000000");
  EXPECT_EQ(Hex(Body(frame).bytes()), kFrom20);
}

TEST(HandshakeMessagesTest, ChallengeHasTheseBytes) {
  const OutFrame frame = EncodeChallenge({Counting(0x20), Counting(0x40)});
  EXPECT_EQ(HeadOf(frame),
            "505253310e006500\n0000000000000000\n4000000000000000");
  EXPECT_EQ(Hex(Body(frame).bytes()), std::string(kFrom20) + "\n" + kFrom40);
}

TEST(HandshakeMessagesTest, ProofHasTheseBytes) {
  const OutFrame frame = EncodeProof(Counting(0x40));
  EXPECT_EQ(HeadOf(frame),
            "505253310e006600\n0000000000000000\n2000000000000000");
  EXPECT_EQ(Hex(Body(frame).bytes()), kFrom40);
}

TEST(HandshakeMessagesTest, WelcomeHasNoBody) {
  const OutFrame frame = EncodeWelcome();
  EXPECT_EQ(HeadOf(frame),
            "505253310e006700\n0000000000000000\n0000000000000000");
  EXPECT_TRUE(DecodeWelcome(Body(frame).bytes()).ok());
}

TEST(HandshakeMessagesTest, TheyComeBackWhole) {
  Nonce nonce;
  ASSERT_TRUE(DecodeHello(Body(EncodeHello(Counting(1))).bytes(), &nonce).ok());
  EXPECT_EQ(nonce, Counting(1));
  Challenge challenge;
  const OutFrame frame = EncodeChallenge({Counting(2), Counting(3)});
  ASSERT_TRUE(DecodeChallenge(Body(frame).bytes(), &challenge).ok());
  EXPECT_EQ(challenge.nonce, Counting(2));
  EXPECT_EQ(challenge.proof, Counting(3));
  Proof proof;
  ASSERT_TRUE(DecodeProof(Body(EncodeProof(Counting(4))).bytes(), &proof).ok());
  EXPECT_EQ(proof, Counting(4));
}

TEST(HandshakeMessagesTest, OtherLengthsAreRefused) {
  for (size_t size = 0; size <= 72; ++size) {
    const Body body((std::vector<uint8_t>(size)));
    Nonce nonce;
    Challenge challenge;
    Proof proof;
    EXPECT_EQ(DecodeHello(body.bytes(), &nonce).ok(), size == 32) << size;
    EXPECT_EQ(DecodeProof(body.bytes(), &proof).ok(), size == 32) << size;
    EXPECT_EQ(DecodeChallenge(body.bytes(), &challenge).ok(), size == 64)
        << size;
    EXPECT_EQ(DecodeWelcome(body.bytes()).ok(), size == 0) << size;
  }
}

}  // namespace
}  // namespace persia
