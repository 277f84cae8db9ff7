// Corrects mutated bytes of a shard's file, so that mutations get past the
// checks of its blocks: see cc/checkpoint/block.h.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace persia {

// Every block's length becomes at most the number of bytes that are left, and
// its checksums become correct.
std::vector<uint8_t> WithChecksums(Span<const uint8_t> file);

// In addition, tables get the layout that follows from their settings, counts
// become the numbers of whole rows and ids, and the end gets their totals.
std::vector<uint8_t> WithCounts(Span<const uint8_t> file);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_SHARD_FILE_MENDING_H_
