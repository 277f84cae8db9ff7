#include "cc/optimizer/dense_adam.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/missed_steps.h"

namespace persia {
namespace {

// The factors of one row's step. "Old" moments are those before the step; "new"
// moments are those after it.
struct Factors {
  // Multiplies the old moments: corrects the movement made in advance at the
  // row's last gradient.
  float undo;
  // Multiplies the new moments: moves the row for this step and, in advance,
  // for the steps until the next gradient.
  float step;
  float shrunk_1;  // The decay of the old moments in the missed steps.
  float shrunk_2;
};

// Tables of precomputed powers, since every row of an update needs several.
struct AdamPowers {
  AdamPowers(const AdamParams& params, bool amsgrad)
      : of_beta_1(params.beta_1),
        of_beta_2(params.beta_2),
        of_step(PowersOfMomentum(amsgrad ? params.beta_1
                                         : params.beta_1 /
                                               std::sqrt(params.beta_2))) {}

  const Powers of_beta_1;
  const Powers of_beta_2;
  // Powers of the ratio by which the movement shrinks from one missed step to
  // the next.
  const Powers of_step;
};

PERSIA_ROW_FUNCTION float CorrectedRate(float rate, float steps,
                                        const AdamPowers& powers) {
  return rate * std::sqrt(1 - powers.of_beta_2(steps)) /
         (1 - powers.of_beta_1(steps));
}

// How far momentum moves a row between its gradient at step `after` and its
// next gradient, `steps` steps later. All of this movement uses one
// bias-corrected rate: the rate at the middle step, or at the eighth step if
// the middle is later, because late steps contribute little.
PERSIA_ROW_FUNCTION float RateBetween(float rate, float after, float steps,
                                      const AdamPowers& powers) {
  if (after == 0 || steps <= 1) return 0;
  constexpr float kMiddle = 8;
  const float at = after + std::min(steps / 2, kMiddle);
  return CorrectedRate(rate, at, powers) *
         MomentumBetween(powers.of_step, steps);
}

PERSIA_ROW_FUNCTION Factors FactorsOf(const StepsPassed& steps, float rate,
                                      const AdamPowers& powers) {
  Factors factors;
  factors.undo = 0;
  factors.shrunk_1 = factors.shrunk_2 = 1;
  if (steps.passed != steps.was_expected) {
    factors.undo = RateBetween(rate, steps.before, steps.passed, powers) -
                   RateBetween(rate, steps.before, steps.was_expected, powers);
  }
  if (steps.passed > 1) {
    factors.shrunk_1 = powers.of_beta_1(steps.passed - 1);
    factors.shrunk_2 = powers.of_beta_2(steps.passed - 1);
  }
  factors.step = CorrectedRate(rate, steps.now, powers) +
                 RateBetween(rate, steps.now, steps.expected, powers);
  return factors;
}

// Steps one row. With AMSGrad, `greatest` is the greatest second moment, which
// divides the first moment; otherwise `greatest` is unused.
template <bool amsgrad>
PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict first,
                                 float* __restrict second,
                                 float* __restrict greatest,
                                 const float* __restrict gradient, size_t dim,
                                 Factors factors, const AdamParams& params) {
  const float rate_1 = params.rate_1, rate_2 = params.rate_2;
  const float epsilon = params.epsilon;
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float old_m = first[d];
    const float old_v = amsgrad ? greatest[d] : second[d];
    const float m = Averaged(old_m * factors.shrunk_1, g, rate_1);
    const float v = Averaged(second[d] * factors.shrunk_2, g * g, rate_2);
    float divisor = v;
    first[d] = m;
    second[d] = v;
    if (amsgrad) {
      divisor = std::max(old_v, v);
      greatest[d] = divisor;
    }
    weights[d] -= factors.undo * old_m / (std::sqrt(old_v) + epsilon) +
                  m * factors.step / (std::sqrt(divisor) + epsilon);
  }
}

template <bool amsgrad>
PERSIA_ROW_FUNCTION void StepEachRow(const RowUpdates& rows,
                                     const AdamParams& params,
                                     const AdamPowers& powers) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const first = rows.states[i];
    float* const second = first + dim;
    float* const greatest = second + (amsgrad ? dim : 0);
    const StepsPassed steps = CountStep(greatest + dim, rows.step.number);
    StepRow<amsgrad>(rows.weights[i], first, second, greatest,
                     rows.gradients[i], dim,
                     FactorsOf(steps, rows.step.learning_rate, powers), params);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows, const AdamParams& params,
                               const AdamPowers& powers) {
  StepEachRow<false>(rows, params, powers);
}

PERSIA_VECTORIZE void StepAmsgradRows(const RowUpdates& rows,
                                      const AdamParams& params,
                                      const AdamPowers& powers) {
  StepEachRow<true>(rows, params, powers);
}

class DenseAdam : public Optimizer {
 public:
  DenseAdam(const AdamParams& params, bool amsgrad)
      : params_(params), amsgrad_(amsgrad), powers_(params, amsgrad) {}

  size_t state_size(size_t dim) const override {
    return (amsgrad_ ? 3 : 2) * dim + kStepClockSize;
  }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    if (amsgrad_) {
      StepAmsgradRows(rows, params_, powers_);
    } else {
      StepRows(rows, params_, powers_);
    }
  }

 private:
  const AdamParams params_;
  const bool amsgrad_;
  const AdamPowers powers_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeDenseAdam(const AdamParams& params,
                                         bool amsgrad) {
  return std::make_unique<DenseAdam>(params, amsgrad);
}

}  // namespace persia
