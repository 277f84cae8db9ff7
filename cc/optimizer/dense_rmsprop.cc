#include "cc/optimizer/dense_rmsprop.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/missed_steps.h"

namespace persia {
namespace {

// The factors of one row's step. The "old" velocity is the one before the step;
// the "new" velocity is the one after it.
struct Factors {
  float shrunk_average;   // The decay of the averages in the missed steps.
  float shrunk_velocity;  // The decay of the velocity in the missed steps.
  // Multiplies the old velocity: corrects the movement made in advance at the
  // row's last gradient.
  float undo;
  // Multiplies the new velocity: moves the row for this step and, in advance,
  // for the steps until the next gradient.
  float move;
};

PERSIA_ROW_FUNCTION Factors FactorsOf(const StepsPassed& steps,
                                      const RmspropParams& params,
                                      const Powers& powers) {
  Factors factors{1, 1, 0, 1};
  if (steps.passed > 1) {
    factors.shrunk_average = std::pow(params.rho, steps.passed - 1);
    factors.shrunk_velocity = std::pow(params.momentum, steps.passed - 1);
  }
  if (steps.passed != steps.was_expected) {
    factors.undo = MomentumBetween(powers, steps.passed) -
                   MomentumBetween(powers, steps.was_expected);
  }
  factors.move = 1 + MomentumBetween(powers, steps.expected);
  return factors;
}

// Steps one row. `average` is the row's average gradient if `centered`,
// otherwise unused. `velocity` is unused unless `has_momentum`.
template <bool has_momentum, bool centered>
PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict squares,
                                 float* __restrict velocity,
                                 float* __restrict average,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, Factors factors,
                                 RmspropParams params) {
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float v = params.rho * (squares[d] * factors.shrunk_average) +
                    params.rest * (g * g);
    squares[d] = v;
    float variance = v;
    if (centered) {
      const float mean =
          params.rho * (average[d] * factors.shrunk_average) + params.rest * g;
      average[d] = mean;
      variance = std::max(v - mean * mean, 0.0f);
    }
    float step = rate * g / std::sqrt(variance + params.epsilon);
    if (has_momentum) {
      const float old = velocity[d];
      step += params.momentum * (old * factors.shrunk_velocity);
      velocity[d] = step;
      step = step * factors.move + old * factors.undo;
    }
    weights[d] -= step;
  }
}

template <bool has_momentum, bool centered>
PERSIA_ROW_FUNCTION void StepEachRow(const RowUpdates& rows,
                                     const RmspropParams& params,
                                     const Powers& powers) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const squares = rows.states[i];
    float* const velocity = squares + dim;
    float* const average = has_momentum ? velocity + dim : velocity;
    float* const clock = average + (centered ? dim : 0);
    const StepsPassed steps = CountStep(clock, rows.step.number);
    StepRow<has_momentum, centered>(
        rows.weights[i], squares, velocity, average, rows.gradients[i], dim,
        rows.step.learning_rate, FactorsOf(steps, params, powers), params);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows,
                               const RmspropParams& params,
                               const Powers& powers) {
  if (params.momentum > 0) {
    if (params.centered) {
      StepEachRow<true, true>(rows, params, powers);
    } else {
      StepEachRow<true, false>(rows, params, powers);
    }
  } else if (params.centered) {
    StepEachRow<false, true>(rows, params, powers);
  } else {
    StepEachRow<false, false>(rows, params, powers);
  }
}

class DenseRmsprop : public Optimizer {
 public:
  explicit DenseRmsprop(const RmspropParams& params)
      : params_(params), powers_(PowersOfMomentum(params.momentum)) {}

  size_t state_size(size_t dim) const override {
    return dim * (1 + (params_.momentum > 0) + params_.centered) +
           kStepClockSize;
  }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    StepRows(rows, params_, powers_);
  }

 private:
  const RmspropParams params_;
  const Powers powers_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeDenseRmsprop(const RmspropParams& params) {
  return std::make_unique<DenseRmsprop>(params);
}

}  // namespace persia
