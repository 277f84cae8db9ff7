// Admission: which ids get a row when training first meets them.
//
//   always
//   min_count(count=N): the N-th training lookup of an id lets it in. Counts
//     every id that waits: in 15 to 30 bytes each, 22 on average. At the memory
//     limit no more ids are counted, nor let in.
//   bloom_min_count(count=N,expected_ids=M,false_positive_rate=P): the same in
//     bounded memory, by a counting Bloom filter (Fan et al., 2000) with
//     conservative update. With at most M ids it lets an id in early with
//     probability P at most, and late never. It has m = -M ln P / (ln 2)^2
//     counters of a byte, 64 GiB of them at most over all shards, and
//     k = m / M ln 2 of them count an id.
//   probability(p=P): an id is let in or not by its own chance, which depends
//     on the table's seed and the id alone.
//
// Counting rules forget an id that they let in, but for the Bloom filter,
// which cannot: an id that was evicted is let in again at once there.

#ifndef PERSIA_CC_STORE_ADMISSION_H_
#define PERSIA_CC_STORE_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/memory_meter.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// The judge of one sub-shard. Not thread-safe: the sub-shard's lock guards it.
class Admission {
 public:
  virtual ~Admission() = default;

  // Whether an absent id, which a training lookup asks for, gets a row. May
  // throw std::bad_alloc.
  virtual bool Admit(int64_t id) = 0;

  virtual size_t bytes() const = 0;
};

// `share` is the part of all ids that this sub-shard has. `spec` must pass
// CheckAdmission. Memory is counted at `meter`, if there is one.
std::unique_ptr<Admission> MakeAdmission(const Spec& spec, uint64_t table_seed,
                                         double share,
                                         MemoryMeter* meter = nullptr);

// InvalidArgument unless it is one of the rules above.
Status CheckAdmission(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_ADMISSION_H_
