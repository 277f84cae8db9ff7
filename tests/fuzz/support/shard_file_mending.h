// What makes mutated bytes a shard's file again, so that mutations reach past
// the checks of its frame: see cc/checkpoint/block.h.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace persia {

// Every block's length becomes what there is of it at most, and its checksums
// what they should be.
std::vector<uint8_t> WithChecksums(Span<const uint8_t> file);

// Then tables also get the layout that their settings give, counts are those of
// the whole rows and ids that there are, and the end counts them all.
std::vector<uint8_t> WithCounts(Span<const uint8_t> file);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_
