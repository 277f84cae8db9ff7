#include "cc/optimizer/adam.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>

#include "cc/base/param_check.h"

namespace persia {
namespace {

class Adam : public Optimizer {
 public:
  Adam(double beta_1, double beta_2, double epsilon)
      : beta_1_(static_cast<float>(beta_1)),
        beta_2_(static_cast<float>(beta_2)),
        rate_1_(static_cast<float>(1 - beta_1)),
        rate_2_(static_cast<float>(1 - beta_2)),
        epsilon_(static_cast<float>(epsilon)) {}

  size_t state_size(size_t dim) const override { return 2 * dim + 1; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(float* const* rows, const float* gradients, size_t count,
              size_t dim, float learning_rate) const override {
    for (size_t i = 0; i < count; ++i) {
      // Stops rising at 2^24 updates, when the correction has long been 1.
      float& updates = rows[i][3 * dim];
      updates += 1;
      UpdateRow(rows[i], gradients + i * dim, dim,
                CorrectedRate(learning_rate, updates));
    }
  }

 private:
  // In float32 as Keras does it: 1 - beta_2^t loses enough digits at first for
  // a double's result to differ in the fifth.
  float CorrectedRate(float learning_rate, float updates) const {
    return learning_rate * std::sqrt(1 - std::pow(beta_2_, updates)) /
           (1 - std::pow(beta_1_, updates));
  }

  void UpdateRow(float* row, const float* __restrict gradient, size_t dim,
                 float alpha) const {
    float* __restrict weights = row;
    float* __restrict first = row + dim;
    float* __restrict second = row + 2 * dim;
    const float rate_1 = rate_1_, rate_2 = rate_2_, epsilon = epsilon_;
    for (size_t d = 0; d < dim; ++d) {
      const float g = gradient[d];
      first[d] += (g - first[d]) * rate_1;
      second[d] += (g * g - second[d]) * rate_2;
      weights[d] -= first[d] * alpha / (std::sqrt(second[d]) + epsilon);
    }
  }

  const float beta_1_;
  const float beta_2_;
  const float rate_1_;
  const float rate_2_;
  const float epsilon_;
};

Status CheckBeta(const Spec& spec, const std::string& param, double beta) {
  const bool holds = beta >= 0 && beta < 1 && static_cast<float>(beta) < 1;
  return CheckParam(holds, "optimizer", spec, param, beta,
                    "at least 0 and, in float32, below 1");
}

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeAdam(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      spec.CheckParams("optimizer", {"beta_1", "beta_2", "epsilon"}));
  const double beta_1 = spec.Get("beta_1", 0.9);
  const double beta_2 = spec.Get("beta_2", 0.999);
  const double epsilon = spec.Get("epsilon", 1e-7);
  PERSIA_RETURN_IF_ERROR(CheckBeta(spec, "beta_1", beta_1));
  PERSIA_RETURN_IF_ERROR(CheckBeta(spec, "beta_2", beta_2));
  // With 0, a zero gradient would divide 0 by 0.
  PERSIA_RETURN_IF_ERROR(CheckParam(
      epsilon > 0 && epsilon <= FLT_MAX && static_cast<float>(epsilon) > 0,
      "optimizer", spec, "epsilon", epsilon, "above 0, and a float32"));
  return std::unique_ptr<Optimizer>(
      std::make_unique<Adam>(beta_1, beta_2, epsilon));
}

}  // namespace persia
