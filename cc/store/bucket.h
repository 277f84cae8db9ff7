// Bucket: a cache line of the index, with up to five ids and their row numbers.

#ifndef PERSIA_CC_STORE_BUCKET_H_
#define PERSIA_CC_STORE_BUCKET_H_

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include <cstddef>
#include <cstdint>

namespace persia {

struct alignas(64) Bucket {
  static constexpr uint32_t kSlots = 5;
  static constexpr uint32_t kAllUsed = (1u << kSlots) - 1;

  int64_t ids[kSlots];  // First: see Match.
  uint32_t rows[kSlots];
  // Number of ids that found this bucket full and were placed in a later bucket
  // or spilled. While it is not 0, a search continues past this bucket.
  // Saturates: at its largest value it no longer changes.
  uint16_t passed;
  uint8_t used;  // A bit for each slot: set if the slot is in use.
  uint8_t unused;

  bool full() const { return used == kAllUsed; }

  // Returns a mask with the bit of the slot that holds `id`, or 0 if no slot
  // holds it. There are no branches, since a CPU could not predict the slot.
  uint32_t Match(int64_t id) const {
#ifdef __SSE4_1__
    // Also compares the row numbers behind the ids. `used` has no such bit.
    const auto* pairs = reinterpret_cast<const __m128i*>(this);
    const __m128i wanted = _mm_set1_epi64x(id);
    const auto compare = [wanted](const __m128i& pair) {
      const __m128i equal = _mm_cmpeq_epi64(_mm_load_si128(&pair), wanted);
      return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(equal)));
    };
    const uint32_t match =
        compare(pairs[0]) | compare(pairs[1]) << 2 | compare(pairs[2]) << 4;
#else
    uint32_t match = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      match |= static_cast<uint32_t>(ids[slot] == id) << slot;
    }
#endif
    return match & used;
  }

  // Returns the row of the slot in `match`, or `if_none` if `match` is 0.
  uint32_t RowOf(uint32_t match, uint32_t if_none) const {
    // Reads some row in any case, so that there is no branch.
    const uint32_t row = rows[__builtin_ctz(match | 1u << (kSlots - 1))];
    return match != 0 ? row : if_none;
  }

  void AddPassed() { passed += passed != UINT16_MAX; }
  void RemovePassed() { passed -= passed != UINT16_MAX; }

  // Precondition: the bucket is not full.
  void Add(int64_t id, uint32_t row) {
    const int slot = __builtin_ctz(~uint32_t{used});
    ids[slot] = id;
    rows[slot] = row;
    used |= static_cast<uint8_t>(1u << slot);
  }
};

static_assert(sizeof(Bucket) == 64, "a cache line");

}  // namespace persia

#endif  // PERSIA_CC_STORE_BUCKET_H_
