// Helpers for the loops of optimizer rules. All of them are inlined, so that
// PERSIA_VECTORIZE on the calling function compiles them for each kind of CPU.

#ifndef PERSIA_CC_OPTIMIZER_ROW_MATH_H_
#define PERSIA_CC_OPTIMIZER_ROW_MATH_H_

#include <cstddef>

// Marks a function that processes one row. Its pointers must be __restrict
// parameters: compilers honour __restrict on parameters only. Without
// __restrict, short rows would run scalar code, because their state is so close
// to their weights that the compiler's run-time check for overlap fails.
#define PERSIA_ROW_FUNCTION inline __attribute__((always_inline))

namespace persia {

// The sum of value(0) to value(count - 1), in an order that does not depend on
// the CPU's vector width. So the result is the same on every CPU, to the last
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
