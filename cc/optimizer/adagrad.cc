#include "cc/optimizer/adagrad.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "cc/base/param_check.h"

namespace persia {
namespace {

class Adagrad : public Optimizer {
 public:
  Adagrad(float initial_accumulator_value, float epsilon)
      : initial_accumulator_value_(initial_accumulator_value),
        epsilon_(epsilon) {}

  size_t state_size(size_t dim) const override { return dim; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, dim, initial_accumulator_value_);
  }

  void Update(float* const* rows, const float* gradients, size_t count,
              size_t dim, float learning_rate) const override {
    const float epsilon = epsilon_;
    for (size_t i = 0; i < count; ++i) {
      float* __restrict weights = rows[i];
      float* __restrict accumulator = rows[i] + dim;
      const float* __restrict gradient = gradients + i * dim;
      for (size_t d = 0; d < dim; ++d) {
        accumulator[d] += gradient[d] * gradient[d];
        weights[d] -=
            learning_rate * gradient[d] / std::sqrt(accumulator[d] + epsilon);
      }
    }
  }

 private:
  const float initial_accumulator_value_;
  const float epsilon_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeAdagrad(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      spec.CheckParams("optimizer", {"initial_accumulator_value", "epsilon"}));
  const double initial = spec.Get("initial_accumulator_value", 0.1);
  const double epsilon = spec.Get("epsilon", 1e-7);
  PERSIA_RETURN_IF_ERROR(CheckParam(
      initial >= 0 && initial <= FLT_MAX, "optimizer", spec,
      "initial_accumulator_value", initial, "at least 0, and a float32"));
  PERSIA_RETURN_IF_ERROR(CheckParam(epsilon >= 0 && epsilon <= FLT_MAX,
                                    "optimizer", spec, "epsilon", epsilon,
                                    "at least 0, and a float32"));
  // A zero gradient would divide 0 by 0.
  PERSIA_RETURN_IF_ERROR(
      CheckParam(static_cast<float>(initial) + static_cast<float>(epsilon) > 0,
                 "optimizer", spec, "epsilon", epsilon,
                 "above 0 in float32 where initial_accumulator_value is 0"));
  return std::unique_ptr<Optimizer>(std::make_unique<Adagrad>(
      static_cast<float>(initial), static_cast<float>(epsilon)));
}

}  // namespace persia
