#include "cc/optimizer/adagrad.h"

#include <algorithm>
#include <cmath>

#include "cc/base/param_check.h"
#include "cc/base/vectorize.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/rule_params.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict accumulator,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, float epsilon) {
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float sum = accumulator[d] + g * g;
    accumulator[d] = sum;
    weights[d] -= rate * g / std::sqrt(sum + epsilon);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows, float epsilon) {
  for (size_t i = 0; i < rows.count; ++i) {
    StepRow(rows.weights[i], rows.states[i], rows.gradients[i], rows.dim,
            rows.step.learning_rate, epsilon);
  }
}

class Adagrad : public Optimizer {
 public:
  Adagrad(float initial_accumulator_value, float epsilon)
      : initial_accumulator_value_(initial_accumulator_value),
        epsilon_(epsilon) {}

  size_t state_size(size_t dim) const override { return dim; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, dim, initial_accumulator_value_);
  }

  void Update(const RowUpdates& rows) const override {
    StepRows(rows, epsilon_);
  }

 private:
  const float initial_accumulator_value_;
  const float epsilon_;
};

}  // namespace

Result<AdagradParams> ReadAdagradParams(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      CheckRuleParams(spec, {"initial_accumulator_value", "epsilon"}));
  const double initial = spec.Get("initial_accumulator_value", 0.1);
  const double epsilon = spec.Get("epsilon", 1e-7);
  PERSIA_RETURN_IF_ERROR(
      CheckNotNegative(spec, "initial_accumulator_value", initial));
  PERSIA_RETURN_IF_ERROR(CheckNotNegative(spec, "epsilon", epsilon));
  // If initial_accumulator_value and epsilon were both 0, a zero gradient would
  // divide 0 by 0.
  PERSIA_RETURN_IF_ERROR(
      CheckParam(static_cast<float>(initial) + static_cast<float>(epsilon) > 0,
                 "optimizer", spec, "epsilon", epsilon,
                 "above 0 in float32 where initial_accumulator_value is 0"));
  return AdagradParams{static_cast<float>(initial),
                       static_cast<float>(epsilon)};
}

Result<std::unique_ptr<Optimizer>> MakeAdagrad(const Spec& spec) {
  const Result<AdagradParams> params = ReadAdagradParams(spec);
  if (!params.ok()) return params.status();
  return std::unique_ptr<Optimizer>(std::make_unique<Adagrad>(
      params->initial_accumulator_value, params->epsilon));
}

}  // namespace persia
