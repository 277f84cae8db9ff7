#include "cc/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define PERSIA_CRC32C_SSE42 1
#endif

namespace persia {
namespace {

// The Castagnoli polynomial with its bits reversed: bit 0 is the coefficient of
// the highest power.
constexpr uint32_t kPolynomial = 0x82f63b78;

// tables[k][b] is what a byte of value b contributes to the checksum when k
// more bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

const Tables& ByteTables() {
  static const Tables tables = MakeTables();
  return tables;
}

uint64_t Load64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

#ifdef PERSIA_CRC32C_SSE42

// The CPU's CRC instruction has a latency of three cycles and a throughput of
// one per cycle. Three independent parts of the data, called lanes, are
// therefore checksummed at once, each of kLaneBytes, and then combined.
constexpr size_t kLaneBytes = 1024;

// Maps the checksum of some data to the checksum of the same data followed by
// kLaneBytes zeros. This map is linear over GF(2), so its result is the XOR of
// one table entry for each of the checksum's four bytes.
using ZeroShift = std::array<std::array<uint32_t, 256>, 4>;

ZeroShift MakeZeroShift() {
  const auto& step = ByteTables()[0];
  ZeroShift shift{};
  for (uint32_t place = 0; place < 4; ++place) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte << (8 * place);
      for (size_t i = 0; i < kLaneBytes; ++i) {
        crc = (crc >> 8) ^ step[crc & 0xff];
      }
      shift[place][byte] = crc;
    }
  }
  return shift;
}

uint32_t AppendZeroLane(const ZeroShift& shift, uint32_t crc) {
  return shift[0][crc & 0xff] ^ shift[1][(crc >> 8) & 0xff] ^
         shift[2][(crc >> 16) & 0xff] ^ shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) uint32_t
ExtendCrc32cSse42(uint32_t crc, const uint8_t* bytes, size_t size) {
  static const ZeroShift shift = MakeZeroShift();
  uint64_t lane0 = ~crc;
  for (; size >= 3 * kLaneBytes; size -= 3 * kLaneBytes) {
    uint64_t lane1 = 0;
    uint64_t lane2 = 0;
    for (size_t i = 0; i < kLaneBytes; i += 8) {
      lane0 = _mm_crc32_u64(lane0, Load64(bytes + i));
      lane1 = _mm_crc32_u64(lane1, Load64(bytes + kLaneBytes + i));
      lane2 = _mm_crc32_u64(lane2, Load64(bytes + 2 * kLaneBytes + i));
    }
    lane0 = AppendZeroLane(shift, static_cast<uint32_t>(lane0)) ^ lane1;
    lane0 = AppendZeroLane(shift, static_cast<uint32_t>(lane0)) ^ lane2;
    bytes += 3 * kLaneBytes;
  }
  for (; size >= 8; size -= 8, bytes += 8) {
    lane0 = _mm_crc32_u64(lane0, Load64(bytes));
  }
  auto tail = static_cast<uint32_t>(lane0);
  for (; size > 0; --size, ++bytes) tail = _mm_crc32_u8(tail, *bytes);
  return ~tail;
}

#endif  // PERSIA_CRC32C_SSE42

}  // namespace

namespace internal {

uint32_t ExtendCrc32cPortable(uint32_t crc, const void* data, size_t size) {
  const Tables& tables = ByteTables();
  const auto* bytes = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    const uint64_t word = Load64(bytes) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) {
      crc ^= tables[7 - i][(word >> (8 * i)) & 0xff];
    }
  }
  for (; size > 0; --size, ++bytes) {
    crc = (crc >> 8) ^ tables[0][(crc ^ *bytes) & 0xff];
  }
  return ~crc;
}

}  // namespace internal

uint32_t ExtendCrc32c(uint32_t crc, const void* bytes, size_t size) {
#ifdef PERSIA_CRC32C_SSE42
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) {
    return ExtendCrc32cSse42(crc, static_cast<const uint8_t*>(bytes), size);
  }
#endif
  return internal::ExtendCrc32cPortable(crc, bytes, size);
}

}  // namespace persia
