// Admission: which ids get a row when a training lookup first meets them.
//
//   always
//   min_count(count=N): the N-th training lookup of an id admits it. Each id
//     that is counted and not yet admitted costs 15 to 20 bytes, 17 on average.
//     At the memory limit no further ids are counted or admitted.
//   bloom_min_count(count=N,expected_ids=M,false_positive_rate=P): min_count in
//     bounded memory, by a counting Bloom filter (Fan et al., 2000) with
//     conservative update. With at most M ids, it admits an id early with
//     probability at most P, and never late. The filter has
//     m = -M ln P / (ln 2)^2 counters of one byte, at most 64 GiB over all
//     shards. Each id is counted by k = m / M ln 2 of these counters.
//   probability(p=P): admits a fixed random part P of all ids, and never the
//     others; a hash of the table's seed and the id decides.
//
// min_count forgets an id once it has admitted the id. A Bloom filter cannot
// forget ids, so bloom_min_count admits an evicted id again at once.

#ifndef PERSIA_CC_STORE_ADMISSION_H_
#define PERSIA_CC_STORE_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/memory_meter.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// The admission rule of one sub-shard. Not thread-safe: the sub-shard's lock
// guards it.
class Admission {
 public:
  virtual ~Admission() = default;

  // Returns whether a training lookup of an absent id creates its row. May
  // throw std::bad_alloc.
  virtual bool Admit(int64_t id) = 0;

  virtual size_t bytes() const = 0;
};

// `share` is the fraction of all ids that belong to this sub-shard. `spec` must
// pass CheckAdmission. Memory is counted at `meter` unless it is null.
std::unique_ptr<Admission> MakeAdmission(const Spec& spec, uint64_t table_seed,
                                         double share,
                                         MemoryMeter* meter = nullptr);

// Returns InvalidArgument unless `spec` is a valid admission rule.
Status CheckAdmission(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_ADMISSION_H_
