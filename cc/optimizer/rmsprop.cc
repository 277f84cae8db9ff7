#include "cc/optimizer/rmsprop.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/dense_rmsprop.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/rule_params.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION float Averaged(float average, float value,
                                   const RmspropParams& params) {
  return params.rho * average + params.rest * value;
}

// Steps one row. `average` is the row's average gradient if `centered`,
// otherwise unused. `velocity` is unused unless `has_momentum`.
template <bool has_momentum, bool centered>
PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict squares,
                                 float* __restrict velocity,
                                 float* __restrict average,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, RmspropParams params) {
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float v = Averaged(squares[d], g * g, params);
    squares[d] = v;
    float variance = v;
    if (centered) {
      const float mean = Averaged(average[d], g, params);
      average[d] = mean;
      // If all gradients were equal, rounding may make the difference negative.
      variance = std::max(v - mean * mean, 0.0f);
    }
    float step = rate * g / std::sqrt(variance + params.epsilon);
    if (has_momentum) {
      step = params.momentum * velocity[d] + step;
      velocity[d] = step;
    }
    weights[d] -= step;
  }
}

template <bool has_momentum, bool centered>
PERSIA_ROW_FUNCTION void StepEachRow(const RowUpdates& rows,
                                     const RmspropParams& params) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const squares = rows.states[i];
    float* const velocity = squares + dim;
    float* const average = has_momentum ? velocity + dim : velocity;
    StepRow<has_momentum, centered>(rows.weights[i], squares, velocity, average,
                                    rows.gradients[i], dim,
                                    rows.step.learning_rate, params);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows,
                               const RmspropParams& params) {
  if (params.momentum > 0) {
    if (params.centered) {
      StepEachRow<true, true>(rows, params);
    } else {
      StepEachRow<true, false>(rows, params);
    }
  } else if (params.centered) {
    StepEachRow<false, true>(rows, params);
  } else {
    StepEachRow<false, false>(rows, params);
  }
}

class Rmsprop : public Optimizer {
 public:
  explicit Rmsprop(const RmspropParams& params) : params_(params) {}

  size_t state_size(size_t dim) const override {
    return dim * (1 + (params_.momentum > 0) + params_.centered);
  }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    StepRows(rows, params_);
  }

 private:
  const RmspropParams params_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeRmsprop(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(CheckRuleParams(
      spec, {"rho", "momentum", "epsilon", "centered", "dense"}));
  const double rho = spec.Get("rho", 0.9);
  const double momentum = spec.Get("momentum", 0);
  const double epsilon = spec.Get("epsilon", 1e-7);
  const double centered = spec.Get("centered", 0);
  PERSIA_RETURN_IF_ERROR(CheckDecay(spec, "rho", rho));
  PERSIA_RETURN_IF_ERROR(CheckMomentum(spec, "momentum", momentum));
  // With an epsilon of 0, a zero gradient would divide 0 by 0.
  PERSIA_RETURN_IF_ERROR(CheckPositive(spec, "epsilon", epsilon));
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "centered", centered));
  RmspropParams params;
  params.rho = static_cast<float>(rho);
  params.rest = static_cast<float>(1 - rho);
  params.momentum = static_cast<float>(momentum);
  params.epsilon = static_cast<float>(epsilon);
  params.centered = centered != 0;
  const double dense = spec.Get("dense", 0);
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "dense", dense));
  if (dense != 0) return MakeDenseRmsprop(params);
  return std::unique_ptr<Optimizer>(std::make_unique<Rmsprop>(params));
}

}  // namespace persia
