// Requests made before anything is timed: what the store is asked by id, and
// the flat array by index.

#ifndef PERSIA_BENCHMARKS_STORE_BENCH_REQUESTS_H_
#define PERSIA_BENCHMARKS_STORE_BENCH_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/span.h"

namespace persia::bench {

// Id of the `rank`-th row: 63 bits without a pattern.
inline int64_t IdOf(uint64_t rank) {
  return static_cast<int64_t>(Mix64(rank) >> 1);
}

// One thread's requests, `batch` different rows each, cycled.
class Requests {
 public:
  // Rows are uniform among `first`, `first` + `step`, ... below `rows`.
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

  // The next request. Calls go on where the last one was, so that no
  // measurement finds the rows of the one before in a cache.
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
