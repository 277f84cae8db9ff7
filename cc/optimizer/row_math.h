// Helpers of the rules' loops. Everything is inlined, so that PERSIA_VECTORIZE
// on the caller compiles it for each kind of CPU.

#ifndef PERSIA_CC_OPTIMIZER_ROW_MATH_H_
#define PERSIA_CC_OPTIMIZER_ROW_MATH_H_

#include <cstddef>

// Marks a function over one row. Its pointers must be __restrict parameters:
// compilers honour __restrict on parameters only, and a row's state is so close
// to its weights that a run-time check for overlap would send short rows to
// scalar code.
#define PERSIA_ROW_FUNCTION inline __attribute__((always_inline))

namespace persia {

// The sum of value(0) to value(count - 1), in an order that does not depend on
// the width of vectors: so the result is the same on every CPU, to the last
// bit.
template <typename Value>
PERSIA_ROW_FUNCTION float LaneSum(size_t count, const Value& value) {
  constexpr size_t kLanes = 16;
  float lanes[kLanes] = {};
  size_t d = 0;
  for (; d + kLanes <= count; d += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += value(d + lane);
  }
  for (size_t lane = 0; d < count; ++d, ++lane) lanes[lane] += value(d);
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

PERSIA_ROW_FUNCTION float SumOfSquares(const float* values, size_t count) {
  return LaneSum(
      count, [values](size_t d) __attribute__((always_inline)) {
        return values[d] * values[d];
      });
}

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ROW_MATH_H_
