// Missed steps: steps in which a row has no gradient.
//
// Keras steps all rows in every step. In a step without a gradient, momentum
// still moves the row, and the averages of its gradients decay. A dense rule
// has the same effect, though it handles a row only when the row has a
// gradient:
//   - The averages decay by the number of steps that have passed.
//   - Momentum moves the row in advance, as far as it would until the row's
//     next gradient. That gradient is expected after as many steps as have
//     passed since the last one, so a row with a gradient in every step moves
//     as in Keras. After a row's first gradient, the next one is expected after
//     many steps.
//   - If more or fewer steps have passed than were expected, the difference is
//     corrected when the gradient arrives.
// So between two gradients a row is where Keras has it just before the second
// one, if that comes when expected.
//
// Everything is inlined, as in row_math.h.

#ifndef PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_
#define PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cc/optimizer/powers.h"
#include "cc/optimizer/row_math.h"

namespace persia {

// The row's clock: floats that follow the rule's own state. The number of the
// last step, modulo 2^24; the number of steps until then; and after how many
// steps the next gradient is expected. All 0 in a new row.
inline constexpr size_t kStepClockSize = 3;

struct StepsPassed {
  float before;        // Steps until the row's last gradient; 0: none yet.
  float now;           // Steps until this gradient.
  float passed;        // Steps since the last gradient; at least 1.
  float was_expected;  // After how many it had been expected.
  float expected;      // After how many the next one is expected.
};

// Counts step `number` of the model in a row's clock. A number that repeats
// (from another worker), or that is lower by up to kLate (it came late), counts
// as one more step; so does 0 (unknown). A number lower than that means that
// the model has started to count again.
PERSIA_ROW_FUNCTION StepsPassed CountStep(float* clock, uint32_t number) {
  constexpr uint32_t kMask = (uint32_t{1} << 24) - 1;  // Exact in float32.
  constexpr float kLate = 64;
  constexpr float kUnknown = 4096;
  const float last = clock[0];
  const auto current = static_cast<float>(number & kMask);
  StepsPassed steps;
  steps.before = clock[1];
  steps.was_expected = std::max(clock[2], 1.0f);
  steps.passed = 1;
  steps.expected = steps.was_expected;
  if (number != 0 && (current > last || last - current > kLate)) {
    steps.passed = current > last ? current - last : std::max(current, 1.0f);
    steps.expected = steps.before == 0 ? kUnknown : steps.passed;
    clock[0] = current;
  }
  steps.now = steps.before + steps.passed;
  clock[1] = steps.now;
  clock[2] = steps.expected;
  return steps;
}

// The powers of `ratio`, by which the movement by momentum shrinks per step.
// For Adam, the ratio can exceed 1: momentum may decay more slowly than what it
// is divided by, so that Keras's steps grow for a while. The ratio is limited,
// which bounds the movement in advance.
inline Powers PowersOfMomentum(float ratio) {
  constexpr float kMostRatio = 0.999f;
  return Powers(std::min(ratio, kMostRatio));
}

// The sum of ratio^1 to ratio^(steps - 1): how far momentum moves a row between
// two gradients, as a multiple of the step at the first gradient.
PERSIA_ROW_FUNCTION float MomentumBetween(const Powers& momentum, float steps) {
  if (steps <= 1) return 0;
  const float r = momentum.base();
  return r * (1 - momentum(steps - 1)) / (1 - r);
}

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_
