// Requests that are generated before anything is timed: by id for the store,
// and by index for the flat array.

#ifndef PERSIA_BENCHMARKS_STORE_BENCH_REQUESTS_H_
#define PERSIA_BENCHMARKS_STORE_BENCH_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/span.h"

namespace persia::bench {

// The id of the `rank`-th row: 63 pseudo-random bits.
inline int64_t IdOf(uint64_t rank) {
  return static_cast<int64_t>(Mix64(rank) >> 1);
}

// One thread's requests, of `batch` distinct rows each, used cyclically.
class Requests {
 public:
  // Rows are drawn uniformly from `first`, `first` + `step`, ... below `rows`.
  struct Plan {
    uint64_t rows;
    size_t batch;
    size_t count;
    uint64_t seed;
    uint64_t first = 0;
    uint64_t step = 1;
  };

  explicit Requests(const Plan& plan);

  size_t batch() const { return batch_; }

  // Moves to the next request. A measurement continues where the last one
  // stopped, so that it does not find the same rows in a cache.
  void Advance() { turn_ = (turn_ + 1) % (ids_.size() / batch_); }
  Span<const int64_t> ids() const {
    return Span<const int64_t>(ids_.data() + turn_ * batch_, batch_);
  }
  const uint32_t* indices() const { return indices_.data() + turn_ * batch_; }

 private:
  size_t batch_;
  size_t turn_ = 0;
  std::vector<int64_t> ids_;
  std::vector<uint32_t> indices_;
};

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_STORE_BENCH_REQUESTS_H_
