#include "cc/base/sha256.h"

#include <algorithm>
#include <cstring>

namespace persia {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

// The same for the square roots of the first 8 primes.
constexpr std::array<uint32_t, 8> kInitial = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

constexpr size_t kLengthBytes = 8;

uint32_t RotateRight(uint32_t x, int by) {
  return (x >> by) | (x << (32 - by));
}

uint32_t LoadBigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 |
         uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

void StoreBigEndian(uint32_t value, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
  }
}

// The message schedule: a block's 16 words and 48 words computed from them.
std::array<uint32_t, 64> Schedule(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (int i = 0; i < 16; ++i) w[i] = LoadBigEndian(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = RotateRight(w[i - 15], 7) ^ RotateRight(w[i - 15], 18) ^
                        (w[i - 15] >> 3);
    const uint32_t s1 = RotateRight(w[i - 2], 17) ^ RotateRight(w[i - 2], 19) ^
                        (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  return w;
}

}  // namespace

Sha256::Sha256() : state_(kInitial) {}

void Sha256::Compress(const uint8_t* block) {
  const std::array<uint32_t, 64> w = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    const uint32_t sum1 =
        RotateRight(e, 6) ^ RotateRight(e, 11) ^ RotateRight(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t t1 = h + sum1 + choice + kRounds[i] + w[i];
    const uint32_t sum0 =
        RotateRight(a, 2) ^ RotateRight(a, 13) ^ RotateRight(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t t2 = sum0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> after = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += after[i];
}

void Sha256::Update(Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t waiting = bytes_ % kBlockBytes;
    const size_t taken = std::min(kBlockBytes - waiting, bytes.size());
    std::memcpy(block_.data() + waiting, bytes.data(), taken);
    bytes_ += taken;
    bytes = bytes.subspan(taken);
    if (bytes_ % kBlockBytes == 0) Compress(block_.data());
  }
}

// Appends a one bit, zeros until the length fits at a block's end, and the
// length.
Sha256Digest Sha256::Finish() {
  const uint64_t bits = 8 * bytes_;
  static constexpr uint8_t kPadding[kBlockBytes] = {0x80};
  const size_t waiting = bytes_ % kBlockBytes;
  const size_t room = kBlockBytes - kLengthBytes;
  const size_t padding =
      waiting < room ? room - waiting : room + kBlockBytes - waiting;
  Update(Span<const uint8_t>(kPadding, padding));
  std::array<uint8_t, kLengthBytes> length;
  StoreBigEndian(static_cast<uint32_t>(bits >> 32), length.data());
  StoreBigEndian(static_cast<uint32_t>(bits), length.data() + 4);
  Update(length);
  Sha256Digest digest;
  for (size_t i = 0; i < state_.size(); ++i) {
    StoreBigEndian(state_[i], digest.data() + 4 * i);
  }
  return digest;
}

}  // namespace persia
