// Missed steps: steps in which a row has no gradient.
//
// Keras steps all rows in every step. In a step without a gradient, momentum
// still moves the row, and the averages of its gradients decay. A dense rule
// has the same effect, though it handles a row only when the row has a
// gradient:
//   - When a row gets a gradient, its averages decay once per step since the
//     row's last gradient.
//   - When a row gets a gradient, the rule moves it at once by the whole
//     distance that momentum would move it until the row's next gradient. The
//     rule expects the next gradient after as many steps as lay between the
//     last two, so a row with a gradient in every step moves as in Keras. After
//     a row's first gradient, the rule expects the next one after many steps.
//   - If more or fewer steps have passed than were expected, the rule corrects
//     the difference when the gradient arrives.
// So between two gradients a row already has the weights that Keras would give
// it just before the second gradient, if that gradient arrives when expected.
//
// All functions here are inlined, as in row_math.h.

#ifndef PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_
#define PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/optimizer/row_math.h"

namespace persia {

// The size of a row's clock. The clock is three floats after the rule's own
// state: the number of the model's last step for this row, modulo 2^24; how
// many steps the row has counted; and after how many steps its next gradient is
// expected. All three are 0 in a new row.
inline constexpr size_t kStepClockSize = 3;

struct StepsPassed {
  // Steps that the row had counted at its last gradient; 0 if it had none.
  float before;
  // Steps that the row has counted at this gradient.
  float now;
  // Steps since the last gradient; at least 1.
  float passed;
  // After how many steps this gradient had been expected.
  float was_expected;
  // After how many steps the next gradient is expected.
  float expected;
};

// Counts step `number` of the model in a row's clock. Normally the row counts
// all steps since the number in its clock. It counts a single step if `number`
// - is 0, that is, unknown;
// - equals the number in the clock: another worker sent the same step;
// - is below the number in the clock by at most kLate: the update was late.
//
// If `number` is below the number in the clock by more than kLate, the model
// has restarted its count, and the row counts `number` steps.
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

// A table of the powers of a number below 1. A row that makes up for missed
// steps needs about nine powers per gradient, and reading them is faster than
// computing them. Immutable, so any number of threads may read it.
class Powers {
 public:
  explicit Powers(float base) : base_(base), values_(kCount) {
    for (size_t exponent = 0; exponent < kCount; ++exponent) {
      values_[exponent] = std::pow(base, static_cast<float>(exponent));
    }
  }

  float base() const { return base_; }

  // Returns the base raised to `exponent`, which must be at least 0. The
  // fraction of an exponent below kCount is ignored.
  PERSIA_ROW_FUNCTION float operator()(float exponent) const {
    return exponent < kCount ? values_[static_cast<size_t>(exponent)]
                             : std::pow(base_, exponent);
  }

 private:
  static constexpr size_t kCount = 4096;  // The table takes 16 KiB.

  const float base_;
  std::vector<float> values_;
};

// Returns the powers of `ratio`, or of 0.999 if `ratio` is greater. `ratio` is
// the factor by which momentum's movement of a row shrinks at each step. For
// Adam, the ratio exceeds 1 if the first moment decays more slowly than the
// square root of the second moment, by which the first is divided; Keras's
// steps then grow for a while. The limit keeps finite the distance that a row
// is moved in advance.
inline Powers PowersOfMomentum(float ratio) {
  constexpr float kMostRatio = 0.999f;
  return Powers(std::min(ratio, kMostRatio));
}

// Returns the sum of ratio^1 to ratio^(steps - 1), which says how far momentum
// moves a row between two gradients that are `steps` steps apart, as a multiple
// of the row's step at the first gradient.
PERSIA_ROW_FUNCTION float MomentumBetween(const Powers& momentum, float steps) {
  if (steps <= 1) return 0;
  const float r = momentum.base();
  return r * (1 - momentum(steps - 1)) / (1 - r);
}

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_MISSED_STEPS_H_
