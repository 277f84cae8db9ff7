#include "cc/base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cc/base/hmac_sha256.h"
#include "tests/cc/base/digest_hex.h"

namespace persia {
namespace {

std::string Hash(std::string_view text) {
  Sha256 hash;
  hash.Update(AsBytes(text));
  return DigestHex(hash.Finish());
}

// The examples of FIPS 180-2 and of NIST's example values.
TEST(Sha256Test, GivesTheKnownDigests) {
  EXPECT_EQ(Hash(""),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039"
            "a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b049237"
            "0b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesAddUpToTheWhole) {
  // Around the lengths at which the padding takes another block.
  for (size_t size = 0; size <= 130; ++size) {
    const std::string text(size, 'x');
    for (const size_t piece : {1, 7, 64, 65}) {
      Sha256 hash;
      for (size_t at = 0; at < size; at += piece) {
        hash.Update(AsBytes(std::string_view(text).substr(at, piece)));
      }
      EXPECT_EQ(DigestHex(hash.Finish()), Hash(text)) << size << " " << piece;
    }
  }
}

}  // namespace
}  // namespace persia
