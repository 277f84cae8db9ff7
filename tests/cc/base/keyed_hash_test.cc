#include "cc/base/keyed_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace persia {
namespace {

TEST(KeyedHash, ACopyHashesAlike) {
  const KeyedHash hash;
  const KeyedHash copy = hash;
  for (uint64_t value = 0; value < 1000; ++value) {
    ASSERT_EQ(copy(value), hash(value));
  }
}

TEST(KeyedHash, EachHasAKeyOfItsOwn) {
  const KeyedHash a, b, c = KeyedHash::Numbered(1), d = KeyedHash::Numbered(1);
  EXPECT_NE(a(1), b(1));
  EXPECT_NE(c(1), d(1));
}

uint64_t Mixed(uint64_t upper) {
  const uint64_t mixed = (upper ^ upper >> 32) * 0x9e3779b97f4a7c15ull;
  return mixed ^ mixed >> 32;
}

TEST(KeyedHash, IsWhatItsHeaderSays) {
  const KeyedHash hash({0, 0, 0, 0});
  EXPECT_EQ(hash(12345), 0u);
  EXPECT_EQ(KeyedHash({0, 0, 5, 0})(9), Mixed(5));
  EXPECT_EQ(KeyedHash({2, 0, 0, 0})(9), Mixed(18));
  // 2^63 * 2 is 2^64; the second line carries out of the lower half.
  EXPECT_EQ(KeyedHash({0, uint64_t{1} << 63, 0, 0})(2), Mixed(1));
  EXPECT_EQ(KeyedHash({0, 1, 0, ~uint64_t{0}})(1), Mixed(1));
}

// Over many keys, any two values share their m upper bits once in 2^m.
TEST(KeyedHash, AnyTwoValuesCollideAsOftenAsByChance) {
  constexpr int kKeys = 40000;
  const std::vector<std::pair<uint64_t, uint64_t>> pairs = {
      {0, 1},
      {0, ~uint64_t{0}},
      {7, 7 + (uint64_t{1} << 63)},
      {uint64_t{1} << 32, uint64_t{1} << 33},
      {0x5555555555555555, 0xaaaaaaaaaaaaaaaa}};
  std::vector<int> upper(pairs.size()), lower(pairs.size());
  for (int key = 0; key < kKeys; ++key) {
    const KeyedHash hash;
    for (size_t p = 0; p < pairs.size(); ++p) {
      const uint64_t differ = hash(pairs[p].first) ^ hash(pairs[p].second);
      upper[p] += differ >> 58 == 0;
      lower[p] += differ << 58 == 0;
    }
  }
  // 625 on average, with a standard deviation of 25.
  for (const int count : upper) EXPECT_NEAR(count, kKeys / 64, 200);
  for (const int count : lower) EXPECT_NEAR(count, kKeys / 64, 200);
}

void PrintHash() {
  std::fprintf(stderr, "hash %llu\n",
               static_cast<unsigned long long>(KeyedHash::Numbered(5)(6)));
  std::exit(0);
}

TEST(KeyedHashDeathTest, ASeedInTheEnvironmentMakesKeysTheSame) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("PERSIA_HASH_SEED", "a text", 1);
  EXPECT_EXIT(PrintHash(), ::testing::ExitedWithCode(0),
              "hash 6734944796085594006");
  unsetenv("PERSIA_HASH_SEED");
}

}  // namespace
}  // namespace persia
