// A table of the powers of a number below 1: a row that makes up for missed
// steps needs about nine of them per gradient, and reading is faster than
// computing.

#ifndef PERSIA_CC_OPTIMIZER_POWERS_H_
#define PERSIA_CC_OPTIMIZER_POWERS_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "cc/optimizer/row_math.h"

namespace persia {

// Immutable, so any number of threads may read it.
class Powers {
 public:
  explicit Powers(float base) : base_(base), values_(kCount) {
    for (size_t exponent = 0; exponent < kCount; ++exponent) {
      values_[exponent] = std::pow(base, static_cast<float>(exponent));
    }
  }

  float base() const { return base_; }

  // `exponent` is at least 0. Below kCount, its fraction is ignored.
  PERSIA_ROW_FUNCTION float operator()(float exponent) const {
    return exponent < kCount ? values_[static_cast<size_t>(exponent)]
                             : std::pow(base_, exponent);
  }

 private:
  static constexpr size_t kCount = 4096;  // 16 KiB.

  const float base_;
  std::vector<float> values_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_POWERS_H_
