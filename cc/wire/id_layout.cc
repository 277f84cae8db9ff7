#include "cc/wire/id_layout.h"

#include <algorithm>
#include <cstring>

#include "cc/base/vectorize.h"

namespace persia {
namespace {

struct IdRange {
  int64_t least;
  int64_t largest;
};

PERSIA_VECTORIZE IdRange RangeOf(const int64_t* ids, size_t count) {
  int64_t least = ids[0];
  int64_t largest = ids[0];
  for (size_t i = 1; i < count; ++i) {
    least = ids[i] < least ? ids[i] : least;
    largest = ids[i] > largest ? ids[i] : largest;
  }
  return {least, largest};
}

// The least number of bytes, from 1 to 8, that the number needs.
uint32_t WidthOf(uint64_t number) {
  uint32_t width = 1;
  while (width < sizeof(number) && number >> 8 * width != 0) ++width;
  return width;
}

// A number's bits above its `width` lowest bytes.
uint32_t UnusedBits(uint32_t width) {
  return 8 * (IdLayout::kPlainWidth - width);
}

}  // namespace

IdLayout LayoutOf(Span<const int64_t> ids, WireDtype dtype) {
  IdLayout layout;
  layout.count = ids.size();
  if (dtype == WireDtype::kFloat32 || ids.empty()) return layout;
  const IdRange range = RangeOf(ids.data(), ids.size());
  const uint32_t width = WidthOf(static_cast<uint64_t>(range.largest) -
                                 static_cast<uint64_t>(range.least));
  if (PackedIdBytes(ids.size(), width) >= ids.size_bytes()) return layout;
  layout.width = width;
  layout.least = range.least;
  return layout;
}

Status CheckIdWidth(uint32_t width) {
  if (width >= 1 && width <= IdLayout::kPlainWidth) return Status();
  return InvalidArgument("the width of ids must be 1 to ",
                         IdLayout::kPlainWidth, ", received ", width);
}

Status CheckLayout(const IdLayout& layout, Span<const int64_t> ids,
                   WireDtype dtype) {
  const IdLayout expected = LayoutOf(ids, dtype);
  if (layout == expected) return Status();
  return InvalidArgument("these ids must have the width ", expected.width,
                         " and the smallest id ", expected.least, ", received ",
                         layout.width, " and ", layout.least);
}

uint64_t PackedIdBytes(uint64_t count, uint32_t width) {
  return sizeof(int64_t) + (count * width + 7) / 8 * 8;
}

// Writing whole words is faster than writing `width` bytes. Each word ends
// where its id's bytes end, and so begins within bytes that are written later:
// those of ids before it, and of the smallest id.
void PackIds(Span<const int64_t> ids, const IdLayout& layout, uint8_t* out) {
  const uint32_t width = layout.width;
  const uint32_t unused = UnusedBits(width);
  const auto least = static_cast<uint64_t>(layout.least);
  for (size_t i = ids.size(); i-- > 0;) {
    const uint64_t word = (static_cast<uint64_t>(ids[i]) - least) << unused;
    std::memcpy(out + (i + 1) * width, &word, sizeof(word));
  }
  std::memcpy(out, &least, sizeof(least));
}

// Reads words in the same way: each ends where its id's bytes end.
void UnpackIds(const uint8_t* packed, const IdLayout& layout, int64_t* ids) {
  const uint32_t width = layout.width;
  const uint32_t unused = UnusedBits(width);
  const auto least = static_cast<uint64_t>(layout.least);
  for (size_t i = 0; i < layout.count; ++i) {
    uint64_t word;
    std::memcpy(&word, packed + (i + 1) * width, sizeof(word));
    ids[i] = static_cast<int64_t>(least + (word >> unused));
  }
}

}  // namespace persia
