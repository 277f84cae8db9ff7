// Missed steps: those in which a row has no gradient.
//
// Keras steps all rows in every step. In one without a gradient a row moves on
// by its momentum, and the averages of its gradients shrink. A rule that is
// dense does the same to its rows, though it sees a row only when it has a
// gradient:
//   - The averages shrink by as many steps as have passed.
//   - Momentum moves the row at once, as far as it would until the row's next
//     gradient. That is expected after as many steps as passed before this one,
//     so a row that has one in every step moves as Keras moves it; and after
//     many, of a row that has its first.
//   - Where more or fewer steps have passed than were expected, the difference
//     is made up for when the gradient comes.
// So between two gradients a row is where Keras has it just before the second,
// if that comes when it is expected.
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

// Numbers of a row's state, after the rule's own: the last step, modulo 2^24;
// how many steps there were until then; and after how many the next gradient
// is expected. All 0 of a new row.
inline constexpr size_t kStepClockSize = 3;

struct StepsPassed {
  float before;        // Steps until the row's last gradient; 0: it had none.
  float now;           // The same, with this one.
  float passed;        // The difference: at least 1.
  float was_expected;  // What had been expected.
  float expected;      // Until the next gradient.
};

// Counts step `number` of the model in a row's clock. The same step again, of
// another worker, and one that comes a little late, is one more step. A number
// that is far below the last one is of a model that counts anew.
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

// The powers of a momentum that shrinks by `ratio` a step. Where it shrinks
// more slowly than what it is divided by, Keras's steps grow, until they do
// not: no more than so many are foreseen.
inline Powers PowersOfMomentum(float ratio) {
  constexpr float kMostRatio = 0.999f;
  return Powers(std::min(ratio, kMostRatio));
}

// The sum of ratio^1 to ratio^(steps - 1): how far a momentum moves a row
// between two gradients, in units of itself.
PERSIA_ROW_FUNCTION float MomentumBetween(const Powers& momentum, float steps) {
  if (steps <= 1) return 0;
  const float r = momentum.base();
  return r * (1 - momentum(steps - 1)) / (1 - r);
}

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_
