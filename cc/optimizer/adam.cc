#include "cc/optimizer/adam.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/adam_moments.h"
#include "cc/optimizer/dense_adam.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict first,
                                 float* __restrict second,
                                 const float* __restrict gradient, size_t dim,
                                 float alpha, const AdamParams& params) {
  const float rate_1 = params.rate_1, rate_2 = params.rate_2;
  const float epsilon = params.epsilon;
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float m = Averaged(first[d], g, rate_1);
    const float v = Averaged(second[d], g * g, rate_2);
    first[d] = m;
    second[d] = v;
    weights[d] -= m * alpha / (std::sqrt(v) + epsilon);
  }
}

PERSIA_ROW_FUNCTION void StepAmsgradRow(float* __restrict weights,
                                        float* __restrict first,
                                        float* __restrict second,
                                        float* __restrict greatest,
                                        const float* __restrict gradient,
                                        size_t dim, float alpha,
                                        const AdamParams& params) {
  const float rate_1 = params.rate_1, rate_2 = params.rate_2;
  const float epsilon = params.epsilon;
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    const float m = Averaged(first[d], g, rate_1);
    const float v = Averaged(second[d], g * g, rate_2);
    const float v_hat = std::max(greatest[d], v);
    first[d] = m;
    second[d] = v;
    greatest[d] = v_hat;
    weights[d] -= m * alpha / (std::sqrt(v_hat) + epsilon);
  }
}

PERSIA_ROW_FUNCTION float CorrectedRate(float rate, float* updates,
                                        const AdamParams& params) {
  const Corrections corrections = CountUpdate(updates, params);
  return rate * std::sqrt(corrections.second) / corrections.first;
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows,
                               const AdamParams& params) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const state = rows.states[i];
    const float alpha =
        CorrectedRate(rows.step.learning_rate, state + 2 * dim, params);
    StepRow(rows.weights[i], state, state + dim, rows.gradients[i], dim, alpha,
            params);
  }
}

PERSIA_VECTORIZE void StepAmsgradRows(const RowUpdates& rows,
                                      const AdamParams& params) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const state = rows.states[i];
    const float alpha =
        CorrectedRate(rows.step.learning_rate, state + 3 * dim, params);
    StepAmsgradRow(rows.weights[i], state, state + dim, state + 2 * dim,
                   rows.gradients[i], dim, alpha, params);
  }
}

class Adam : public Optimizer {
 public:
  Adam(const AdamParams& params, bool amsgrad)
      : params_(params), amsgrad_(amsgrad) {}

  size_t state_size(size_t dim) const override {
    return (amsgrad_ ? 3 : 2) * dim + 1;
  }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    if (amsgrad_) {
      StepAmsgradRows(rows, params_);
    } else {
      StepRows(rows, params_);
    }
  }

 private:
  const AdamParams params_;
  const bool amsgrad_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeAdam(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(CheckRuleParams(
      spec, {"beta_1", "beta_2", "epsilon", "amsgrad", "dense"}));
  const auto params = ReadAdamParams(spec);
  if (!params.ok()) return params.status();
  const double amsgrad = spec.Get("amsgrad", 0);
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "amsgrad", amsgrad));
  const double dense = spec.Get("dense", 0);
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "dense", dense));
  if (dense != 0) return MakeDenseAdam(*params, amsgrad != 0);
  return std::unique_ptr<Optimizer>(
      std::make_unique<Adam>(*params, amsgrad != 0));
}

}  // namespace persia
