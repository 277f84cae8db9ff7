#include "cc/tls/hmac_sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace persia {
namespace {

// A digest as the standards' test vectors write it.
std::string DigestHex(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Hmac(const std::string& key, const std::string& text) {
  return DigestHex(*HmacSha256(key, {AsBytes(text)}));
}

// The test vectors of RFC 4231, except case 5, whose digest is truncated.
TEST(HmacSha256Test, GivesTheKnownDigests) {
  EXPECT_EQ(Hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b"
            "881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
            "5a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a7"
            "2959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(Hmac("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d"
                 "\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19",
                 std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a"
            "85f0faa3e578f8077a2e3ff46729665b");
}

TEST(HmacSha256Test, HashesKeysOfMoreThanABlock) {
  const std::string key(131, '\xaa');
  EXPECT_EQ(Hmac(key, "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f"
            "8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(Hmac(key,
                 "This is a test using a larger than block-size key and a "
                 "larger than block-size data. The key needs to be hashed "
                 "before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944"
            "bfdc63644f0713938a7f51535c3a35e2");
}

TEST(HmacSha256Test, PartsAreOneText) {
  EXPECT_EQ(
      DigestHex(*HmacSha256("key", {AsBytes("ab"), AsBytes(""), AsBytes("c")})),
      Hmac("key", "abc"));
}

TEST(HmacSha256Test, EveryDifferentBitIsADifference) {
  const Sha256Digest digest = *HmacSha256("key", {});
  EXPECT_TRUE(EqualInConstantTime(digest, digest));
  for (size_t bit = 0; bit < digest.size() * 8; ++bit) {
    Sha256Digest other = digest;
    other[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(EqualInConstantTime(digest, other)) << bit;
  }
}

}  // namespace
}  // namespace persia
