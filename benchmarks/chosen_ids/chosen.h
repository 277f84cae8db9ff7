// Ids that an attacker who knows the store's hash could choose: HashId is
// public.

#ifndef PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_
#define PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace persia::bench {

// Returns `count` distinct ids of the kind `name`:
//   random      random ids, which the others are compared with
//   lower_bits  ids whose hashes share the lower 32 bits
//   upper_bits  ids whose hashes share the upper 12 and the lower 12 bits
//   sub_shard   ids whose hashes share the lower 12 bits: all are in one
//               sub-shard
// Returns an empty list for any other name.
std::vector<int64_t> IdsOf(const std::string& name, size_t count,
                           uint64_t seed);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_CHOSEN_IDS_CHOSEN_H_
