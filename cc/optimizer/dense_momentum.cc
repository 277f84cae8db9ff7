#include "cc/optimizer/dense_momentum.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/missed_steps.h"

namespace persia {
namespace {

// The factors of one row's step. The "old" velocity is the one before the step;
// the "new" velocity is the one after it.
struct Factors {
  float shrunk;  // The decay of the old velocity in the missed steps.
  // Multiplies the old velocity: corrects the movement made in advance at the
  // row's last gradient.
  float undo;
  // Multiplies the new velocity: moves the row in advance for the steps until
  // the next gradient.
  float move;
};

PERSIA_ROW_FUNCTION Factors FactorsOf(const StepsPassed& steps, float momentum,
                                      const Powers& powers, bool nesterov) {
  // A step without a gradient moves the row by its velocity; with Nesterov, by
  // its velocity times the momentum.
  const float of_velocity = nesterov ? momentum : 1.0f;
  Factors factors{1, 0, 0};
  if (steps.passed > 1) factors.shrunk = std::pow(momentum, steps.passed - 1);
  if (steps.passed != steps.was_expected) {
    factors.undo = of_velocity * (MomentumBetween(powers, steps.passed) -
                                  MomentumBetween(powers, steps.was_expected));
  }
  factors.move = of_velocity * MomentumBetween(powers, steps.expected);
  return factors;
}

template <bool nesterov>
PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict velocity,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, float momentum, Factors factors) {
  for (size_t d = 0; d < dim; ++d) {
    const float step = gradient[d] * rate;
    const float old = velocity[d];
    const float v = old * factors.shrunk * momentum - step;
    velocity[d] = v;
    weights[d] += (nesterov ? v * momentum - step : v) + v * factors.move +
                  old * factors.undo;
  }
}

template <bool nesterov>
PERSIA_ROW_FUNCTION void StepEachRow(const RowUpdates& rows, float momentum,
                                     const Powers& powers) {
  for (size_t i = 0; i < rows.count; ++i) {
    float* const velocity = rows.states[i];
    const StepsPassed steps = CountStep(velocity + rows.dim, rows.step.number);
    StepRow<nesterov>(rows.weights[i], velocity, rows.gradients[i], rows.dim,
                      rows.step.learning_rate, momentum,
                      FactorsOf(steps, momentum, powers, nesterov));
  }
}

PERSIA_VECTORIZE void StepMomentumRows(const RowUpdates& rows, float momentum,
                                       const Powers& powers) {
  StepEachRow<false>(rows, momentum, powers);
}

PERSIA_VECTORIZE void StepNesterovRows(const RowUpdates& rows, float momentum,
                                       const Powers& powers) {
  StepEachRow<true>(rows, momentum, powers);
}

class DenseMomentum : public Optimizer {
 public:
  DenseMomentum(float momentum, bool nesterov)
      : momentum_(momentum),
        nesterov_(nesterov),
        powers_(PowersOfMomentum(momentum)) {}

  size_t state_size(size_t dim) const override { return dim + kStepClockSize; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    if (nesterov_) {
      StepNesterovRows(rows, momentum_, powers_);
    } else {
      StepMomentumRows(rows, momentum_, powers_);
    }
  }

 private:
  const float momentum_;
  const bool nesterov_;
  const Powers powers_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeDenseMomentum(float momentum, bool nesterov) {
  return std::make_unique<DenseMomentum>(momentum, nesterov);
}

}  // namespace persia
