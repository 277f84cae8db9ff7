#include "cc/optimizer/ftrl.h"

#include <algorithm>
#include <cmath>

#include "cc/base/param_check.h"
#include "cc/base/vectorize.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/rule_params.h"

namespace persia {
namespace {

// Limits that keep the rule's numbers finite: an accumulator of ordinary
// squared gradients, raised to the power -learning_rate_power, stays below
// kMostRaised and can be divided by any learning rate that is at least
// kLeastRate.
constexpr double kLeastPower = -2;
constexpr double kMostRaised = 1e18;
constexpr float kLeastRate = 1e-20f;

struct Params {
  float power;  // Equals -learning_rate_power.
  float l1;
  float l2;
  float l2_shrinkage;
  float beta;
};

template <bool square_root>
PERSIA_ROW_FUNCTION float Raised(float accumulator, float power) {
  return square_root ? std::sqrt(accumulator) : std::pow(accumulator, power);
}

template <bool square_root>
PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict accumulator,
                                 float* __restrict linear,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, Params params) {
  const float twice_l2 = 2 * (params.l2 + params.beta / (2 * rate));
  const float twice_shrinkage = 2 * params.l2_shrinkage;
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d], w = weights[d];
    const float sum = accumulator[d] + g * g;
    const float raised = Raised<square_root>(sum, params.power);
    const float sigma =
        (raised - Raised<square_root>(accumulator[d], params.power)) / rate;
    const float z = linear[d] + (g + twice_shrinkage * w - sigma * w);
    accumulator[d] = sum;
    linear[d] = z;
    const float clipped = std::min(std::max(z, -params.l1), params.l1);
    const float quadratic = raised / rate + twice_l2;
    // If accumulators start at 0, `quadratic` may be 0 for a weight that never
    // had a gradient. Such a weight does not change.
    const float moved = (clipped - z) / (quadratic > 0 ? quadratic : 1.0f);
    weights[d] = quadratic > 0 ? moved : w;
  }
}

template <bool square_root>
PERSIA_ROW_FUNCTION void StepEachRow(const RowUpdates& rows,
                                     const Params& params) {
  for (size_t i = 0; i < rows.count; ++i) {
    float* const accumulator = rows.states[i];
    StepRow<square_root>(rows.weights[i], accumulator, accumulator + rows.dim,
                         rows.gradients[i], rows.dim, rows.step.learning_rate,
                         params);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows, const Params& params) {
  if (params.power == 0.5f) {
    StepEachRow<true>(rows, params);
  } else {
    StepEachRow<false>(rows, params);
  }
}

class Ftrl : public Optimizer {
 public:
  Ftrl(const Params& params, float initial_accumulator_value)
      : params_(params),
        initial_accumulator_value_(initial_accumulator_value) {}

  size_t state_size(size_t dim) const override { return 2 * dim; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, dim, initial_accumulator_value_);
    std::fill_n(state + dim, dim, 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    if (rows.step.learning_rate >= kLeastRate) StepRows(rows, params_);
  }

 private:
  const Params params_;
  const float initial_accumulator_value_;
};

// Sets `value` to the parameter `param` of `spec`, or to `default_value` if it
// is absent. Returns InvalidArgument if the value is negative.
Status ReadStrength(const Spec& spec, const char* param, double default_value,
                    float* value) {
  const double given = spec.Get(param, default_value);
  PERSIA_RETURN_IF_ERROR(CheckNotNegative(spec, param, given));
  *value = static_cast<float>(given);
  return Status();
}

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeFtrl(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(CheckRuleParams(
      spec, {"learning_rate_power", "initial_accumulator_value",
             "l1_regularization_strength", "l2_regularization_strength",
             "l2_shrinkage_regularization_strength", "beta"}));
  const double power = spec.Get("learning_rate_power", -0.5);
  PERSIA_RETURN_IF_ERROR(CheckParam(power <= 0 && power >= kLeastPower,
                                    "optimizer", spec, "learning_rate_power",
                                    power, "between -2 and 0"));
  Params params;
  float initial;
  params.power = static_cast<float>(-power);
  PERSIA_RETURN_IF_ERROR(
      ReadStrength(spec, "initial_accumulator_value", 0.1, &initial));
  PERSIA_RETURN_IF_ERROR(
      CheckParam(std::pow(double{initial}, -power) <= kMostRaised, "optimizer",
                 spec, "initial_accumulator_value", initial,
                 Concat("at most 1e18 when raised to -learning_rate_power, ",
                        NumberText(-power))));
  PERSIA_RETURN_IF_ERROR(
      ReadStrength(spec, "l1_regularization_strength", 0, &params.l1));
  PERSIA_RETURN_IF_ERROR(
      ReadStrength(spec, "l2_regularization_strength", 0, &params.l2));
  PERSIA_RETURN_IF_ERROR(ReadStrength(
      spec, "l2_shrinkage_regularization_strength", 0, &params.l2_shrinkage));
  PERSIA_RETURN_IF_ERROR(ReadStrength(spec, "beta", 0, &params.beta));
  return std::unique_ptr<Optimizer>(std::make_unique<Ftrl>(params, initial));
}

}  // namespace persia
