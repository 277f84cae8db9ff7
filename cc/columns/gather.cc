#include "cc/columns/gather.h"

#include <algorithm>
#include <cstring>

namespace persia {
namespace {

// So many values ahead, their memory is asked for: it is rarely in a cache.
constexpr size_t kAhead = 32;

// Values are copied as bytes, since the memory may not be aligned.
template <size_t kWidth>
void GatherOf(const uint8_t* from, Span<const int32_t> places, uint8_t* to) {
  const size_t count = places.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t ahead = std::min(i + kAhead, count - 1);
    __builtin_prefetch(from + static_cast<size_t>(places[ahead]) * kWidth);
    std::memcpy(to + i * kWidth, from + static_cast<size_t>(places[i]) * kWidth,
                kWidth);
  }
}

bool AreWithin(Span<const int32_t> places, size_t count) {
  uint32_t most = 0;  // A negative place is a great one.
  for (const int32_t place : places) {
    most = std::max(most, static_cast<uint32_t>(place));
  }
  return most <= INT32_MAX && most < count;
}

}  // namespace

Status Gather(ConstBytes from, size_t width, Span<const int32_t> places,
              MutableBytes to) {
  if (width != 1 && width != 2 && width != 4 && width != 8) {
    return InvalidArgument("values must have 1, 2, 4 or 8 bytes, received ",
                           width);
  }
  if (to.size() / width != places.size() || to.size() % width != 0) {
    return InvalidArgument("to must have room for ", places.size(),
                           " values of ", width, " bytes, received ", to.size(),
                           " bytes");
  }
  if (places.empty()) return Status();
  if (!AreWithin(places, from.size() / width)) {
    return InvalidArgument("places must be from 0 to ", from.size() / width,
                           ", exclusive");
  }
  switch (width) {
    case 1:
      GatherOf<1>(from.data(), places, to.data());
      break;
    case 2:
      GatherOf<2>(from.data(), places, to.data());
      break;
    case 4:
      GatherOf<4>(from.data(), places, to.data());
      break;
    default:
      GatherOf<8>(from.data(), places, to.data());
  }
  return Status();
}

}  // namespace persia
