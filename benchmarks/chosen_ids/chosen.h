// Ids that somebody chose, who knows how the store hashes: HashId is published.

#ifndef PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_
#define PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace persia::bench {

// By their name, `count` distinct ids of 63 bits or fewer and a sign:
//   random      what others are compared with
//   lower_bits  their hashes share the lower 32 bits
//   upper_bits  the upper 12 bits, and the lower 12 too
//   sub_shard   the lower 12 bits: they are all in one sub-shard
// Others than those make an empty list.
std::vector<int64_t> IdsOf(const std::string& name, size_t count,
                           uint64_t seed);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_
