#include "cc/base/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/hash.h"

namespace persia {
namespace {

std::vector<uint8_t> SomeBytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(HashId(static_cast<int64_t>(i)));
  }
  return bytes;
}

uint32_t BitByBit(const std::vector<uint8_t>& bytes) {
  uint32_t crc = 0xffffffff;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
  }
  return ~crc;
}

// RFC 3720, appendix B.4.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
}

TEST(Crc32cTest, OfNothingIsZero) { EXPECT_EQ(Crc32c(nullptr, 0), 0u); }

TEST(Crc32cTest, AgreesWithTheDefinitionAtEveryLength) {
  for (const size_t size : {1, 7, 8, 9, 63, 3071, 3072, 3073, 6150, 10007}) {
    const std::vector<uint8_t> bytes = SomeBytes(size);
    EXPECT_EQ(Crc32c(bytes.data(), size), BitByBit(bytes)) << size;
  }
}

TEST(Crc32cTest, PortableVersionAgreesWithTheDefinition) {
  for (const size_t size : {1, 7, 8, 9, 100, 4099}) {
    const std::vector<uint8_t> bytes = SomeBytes(size);
    EXPECT_EQ(internal::ExtendCrc32cPortable(0, bytes.data(), size),
              BitByBit(bytes))
        << size;
  }
}

TEST(Crc32cTest, ExtendsOverPartsOfAnyLength) {
  const std::vector<uint8_t> bytes = SomeBytes(9001);
  const uint32_t whole = Crc32c(bytes.data(), bytes.size());
  for (const size_t cut : {0, 1, 13, 3072, 4097, 9000, 9001}) {
    const uint32_t head = Crc32c(bytes.data(), cut);
    EXPECT_EQ(ExtendCrc32c(head, bytes.data() + cut, bytes.size() - cut), whole)
        << cut;
    EXPECT_EQ(internal::ExtendCrc32cPortable(head, bytes.data() + cut,
                                             bytes.size() - cut),
              whole)
        << cut;
  }
}

}  // namespace
}  // namespace persia
