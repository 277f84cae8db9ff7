#include "cc/optimizer/sgd.h"

#include <algorithm>

#include "cc/base/param_check.h"

namespace persia {
namespace {

class Sgd : public Optimizer {
 public:
  size_t state_size(size_t) const override { return 0; }

  void InitState(float*, size_t) const override {}

  void Update(float* const* rows, const float* gradients, size_t count,
              size_t dim, float learning_rate) const override {
    for (size_t i = 0; i < count; ++i) {
      float* __restrict weights = rows[i];
      const float* __restrict gradient = gradients + i * dim;
      for (size_t d = 0; d < dim; ++d) {
        weights[d] -= gradient[d] * learning_rate;
      }
    }
  }
};

template <bool nesterov>
class MomentumSgd : public Optimizer {
 public:
  explicit MomentumSgd(float momentum) : momentum_(momentum) {}

  size_t state_size(size_t dim) const override { return dim; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, dim, 0.0f);
  }

  void Update(float* const* rows, const float* gradients, size_t count,
              size_t dim, float learning_rate) const override {
    const float momentum = momentum_;
    for (size_t i = 0; i < count; ++i) {
      float* __restrict weights = rows[i];
      float* __restrict velocity = rows[i] + dim;
      const float* __restrict gradient = gradients + i * dim;
      for (size_t d = 0; d < dim; ++d) {
        const float step = gradient[d] * learning_rate;
        velocity[d] = velocity[d] * momentum - step;
        weights[d] += nesterov ? velocity[d] * momentum - step : velocity[d];
      }
    }
  }

 private:
  const float momentum_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeSgd(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      spec.CheckParams("optimizer", {"momentum", "nesterov"}));
  const double momentum = spec.Get("momentum", 0);
  const double nesterov = spec.Get("nesterov", 0);
  PERSIA_RETURN_IF_ERROR(CheckParam(momentum >= 0 && momentum <= 1, "optimizer",
                                    spec, "momentum", momentum,
                                    "between 0 and 1"));
  PERSIA_RETURN_IF_ERROR(CheckParam(nesterov == 0 || nesterov == 1, "optimizer",
                                    spec, "nesterov", nesterov, "0 or 1"));
  const auto rounded = static_cast<float>(momentum);
  std::unique_ptr<Optimizer> made;
  if (momentum == 0) {
    made = std::make_unique<Sgd>();
  } else if (nesterov == 0) {
    made = std::make_unique<MomentumSgd<false>>(rounded);
  } else {
    made = std::make_unique<MomentumSgd<true>>(rounded);
  }
  return made;
}

}  // namespace persia
