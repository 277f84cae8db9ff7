// RandomStream: the random numbers of one row. The k-th number is a hash of
// (table seed, id, k), so it is the same in every process. The initial values
// of rows depend on this algorithm, so never change it.

#ifndef PERSIA_CC_STORE_RANDOM_H_
#define PERSIA_CC_STORE_RANDOM_H_

#include <cmath>
#include <cstdint>

#include "cc/base/hash.h"

namespace persia {

class RandomStream {
 public:
  RandomStream(uint64_t table_seed, int64_t id)
      : key_(Mix64(table_seed ^ HashId(id))) {}

  // Returns a uniform number in [0, 1) with 53 random bits.
  double Uniform() {
    // Mix64 hashes the steps of a Weyl sequence, as in splitmix64.
    const uint64_t bits = Mix64(key_ + counter_++ * 0x9e3779b97f4a7c15ull);
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }

  // Returns a standard normal number, by the method of Box and Muller, which
  // turns two uniform numbers into two normal ones.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    const double angle = kTwoPi * Uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  const uint64_t key_;
  uint64_t counter_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_RANDOM_H_
