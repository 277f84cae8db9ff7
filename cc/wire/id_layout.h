// IdLayout: how a message has the ids of one table.
//
//   plain ids  = each id, in 8 bytes
//   packed ids = the smallest id, in 8 bytes; then, for each id, how much
//                larger it is than the smallest, in `width` bytes (1 to 7);
//                zeros to a multiple of 8 bytes
//
// Ids in a message keep their order, which is that of their vectors. They are
// not sorted: that would save about a byte more per id, but take longer than a
// fast network takes to send the byte.
//
// - Where vectors are float32, ids are plain: such messages are sent and used
//   where they lie, without copies, and their vectors are most of their bytes.
// - Otherwise ids are packed if that takes fewer bytes, in the least width. So
//   an array of ids has only one encoding, and a decoder refuses any other.
// - Differences are taken from the smallest id as a signed number, so that
//   ids that share a prefix, or of which some are -1, are packed as well. Ids
//   that are spread over 64 bits, such as hashes, stay plain.

#ifndef PERSIA_CC_WIRE_ID_LAYOUT_H_
#define PERSIA_CC_WIRE_ID_LAYOUT_H_

#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

struct IdLayout {
  static constexpr uint32_t kPlainWidth = sizeof(int64_t);

  uint64_t count = 0;
  uint32_t width = kPlainWidth;  // Bytes per id.
  int64_t least = 0;             // The smallest id, if ids are packed.

  bool packed() const { return width != kPlainWidth; }

  friend bool operator==(const IdLayout& a, const IdLayout& b) {
    return a.count == b.count && a.width == b.width && a.least == b.least;
  }
};

// The layout of ids whose vectors have this dtype.
IdLayout LayoutOf(Span<const int64_t> ids, WireDtype dtype);

// InvalidArgument unless the width is 1 to 8.
Status CheckIdWidth(uint32_t width);

// InvalidArgument unless `layout` is LayoutOf(ids, dtype).
Status CheckLayout(const IdLayout& layout, Span<const int64_t> ids,
                   WireDtype dtype);

// The bytes of packed ids. Does not overflow below 2^60 ids.
uint64_t PackedIdBytes(uint64_t count, uint32_t width);

// Packs the ids to PackedIdBytes(layout) zeros at `out`. Precondition: the
// layout is that of the ids, and packed.
void PackIds(Span<const int64_t> ids, const IdLayout& layout, uint8_t* out);

// Unpacks layout.count ids. `packed` begins with the smallest id.
// Precondition: the layout is packed. Ids that exceed 64 bits wrap around,
// after which CheckLayout fails.
void UnpackIds(const uint8_t* packed, const IdLayout& layout, int64_t* ids);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ID_LAYOUT_H_
