#include "cc/store/row_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cc/base/hash.h"
#include "cc/base/vectorize.h"
#include "cc/store/half.h"

namespace persia {
namespace {

// 16 random bits, or more, for each weight of a row.
class RandomBits {
 public:
  explicit RandomBits(uint64_t random)
      : key_(static_cast<uint32_t>(Mix64(random))) {}

  // A finalizer of MurmurHash3 (Appleby): 32-bit, so that it is vectorised.
  uint32_t operator[](size_t d) const {
    uint32_t x = key_ + static_cast<uint32_t>(d) * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
  }

 private:
  const uint32_t key_;
};

PERSIA_VECTORIZE void ReadFloats(const std::byte* const* rows,
                                 const uint32_t* places, size_t count,
                                 size_t dim, float* out) {
  constexpr size_t kBlock = 16;  // Of a known size, so that no call is made.
  const size_t blocks = dim / kBlock;
  const size_t rest = dim % kBlock * sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    if (rows[i] == nullptr) continue;
    const std::byte* from = rows[i];
    float* to = out + places[i] * dim;
    for (size_t b = 0; b < blocks; ++b) {
      std::memcpy(to, from, kBlock * sizeof(float));
      from += kBlock * sizeof(float);
      to += kBlock;
    }
    if (rest != 0) std::memcpy(to, from, rest);
  }
}

class Float32Format : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 4 * dim; }
  bool in_place() const override { return true; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    ReadFloats(rows, places, count, dim, out);
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    std::memcpy(row, weights, 4 * dim);
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t,
                     std::byte* row) const override {
    Write(weights, dim, row);
  }
};

template <typename Half>
void ReadHalves(const std::byte* const* rows, const uint32_t* places,
                size_t count, size_t dim, float* out) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i] == nullptr) continue;
    const auto* from = reinterpret_cast<const uint16_t*>(rows[i]);
    float* __restrict to = out + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) to[d] = Half::ToFloat(from[d]);
  }
}

PERSIA_VECTORIZE void ReadBfloat16(const std::byte* const* rows,
                                   const uint32_t* places, size_t count,
                                   size_t dim, float* out) {
  ReadHalves<Bfloat16>(rows, places, count, dim, out);
}

PERSIA_VECTORIZE void ReadFloat16(const std::byte* const* rows,
                                  const uint32_t* places, size_t count,
                                  size_t dim, float* out) {
  ReadHalves<Float16>(rows, places, count, dim, out);
}

PERSIA_VECTORIZE void WriteBfloat16Randomly(const float* weights, size_t dim,
                                            uint64_t random, uint16_t* row) {
  const RandomBits bits(random);
  for (size_t d = 0; d < dim; ++d) {
    row[d] = Bfloat16::Randomly(weights[d], bits[d]);
  }
}

PERSIA_VECTORIZE void WriteFloat16Randomly(const float* weights, size_t dim,
                                           uint64_t random, uint16_t* row) {
  const RandomBits bits(random);
  for (size_t d = 0; d < dim; ++d) {
    row[d] = Float16::Randomly(weights[d], bits[d]);
  }
}

template <typename Half>
class HalfFormat : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 2 * dim; }
  bool in_place() const override { return false; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    if constexpr (std::is_same_v<Half, Bfloat16>) {
      ReadBfloat16(rows, places, count, dim, out);
    } else {
      ReadFloat16(rows, places, count, dim, out);
    }
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    auto* to = reinterpret_cast<uint16_t*>(row);
    for (size_t d = 0; d < dim; ++d) to[d] = Half::Nearest(weights[d]);
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                     std::byte* row) const override {
    auto* to = reinterpret_cast<uint16_t*>(row);
    if constexpr (std::is_same_v<Half, Bfloat16>) {
      WriteBfloat16Randomly(weights, dim, random, to);
    } else {
      WriteFloat16Randomly(weights, dim, random, to);
    }
  }
};

PERSIA_VECTORIZE void ReadInt8(const std::byte* const* rows,
                               const uint32_t* places, size_t count, size_t dim,
                               float* out) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i] == nullptr) continue;
    float scale;
    std::memcpy(&scale, rows[i], sizeof(scale));
    const auto* from = reinterpret_cast<const int8_t*>(rows[i] + sizeof(scale));
    float* __restrict to = out + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) {
      to[d] = static_cast<float>(from[d]) * scale;
    }
  }
}

// Rounds weight / scale up with probability `fraction(d)`'s say: down after
// adding it.
template <typename Fraction>
void WriteInt8(const float* weights, size_t dim, const Fraction& fraction,
               std::byte* row) {
  constexpr float kMost = 127;
  float largest = 0;
  for (size_t d = 0; d < dim; ++d) {
    largest = std::max(largest, std::abs(weights[d]));
  }
  // 127 times the largest scale is still finite.
  constexpr float kMostScale = 2.679e36f;
  const float scale = std::min(largest / kMost, kMostScale);
  std::memcpy(row, &scale, sizeof(scale));
  auto* to = reinterpret_cast<int8_t*>(row + sizeof(scale));
  for (size_t d = 0; d < dim; ++d) {
    const float q = scale == 0 ? 0 : weights[d] / scale;
    const float rounded = std::floor(q + fraction(d));
    to[d] = static_cast<int8_t>(std::min(std::max(rounded, -kMost), kMost));
  }
}

class Int8Format : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 4 + dim; }
  bool in_place() const override { return false; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    ReadInt8(rows, places, count, dim, out);
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    WriteInt8(weights, dim, [](size_t) { return 0.5f; }, row);
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                     std::byte* row) const override {
    const RandomBits bits(random);
    const auto fraction = [&](size_t d) {
      return static_cast<float>(bits[d] >> 8) * 0x1p-24f;
    };
    WriteInt8(weights, dim, fraction, row);
  }
};

template <typename Format>
Result<std::unique_ptr<RowFormat>> Make() {
  return std::unique_ptr<RowFormat>(std::make_unique<Format>());
}

}  // namespace

Result<std::unique_ptr<RowFormat>> MakeRowFormat(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("row_dtype", {}));
  if (spec.name == "float32") return Make<Float32Format>();
  if (spec.name == "bfloat16") return Make<HalfFormat<Bfloat16>>();
  if (spec.name == "float16") return Make<HalfFormat<Float16>>();
  if (spec.name == "int8") return Make<Int8Format>();
  return InvalidArgument(
      "row_dtype must be float32, bfloat16, float16 or int8, received \"",
      spec.name, "\"");
}

}  // namespace persia
