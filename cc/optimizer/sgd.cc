#include "cc/optimizer/sgd.h"

#include <algorithm>

#include "cc/base/vectorize.h"
#include "cc/optimizer/dense_momentum.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/rule_params.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 const float* __restrict gradient, size_t dim,
                                 float rate) {
  for (size_t d = 0; d < dim; ++d) weights[d] -= gradient[d] * rate;
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows) {
  for (size_t i = 0; i < rows.count; ++i) {
    StepRow(rows.weights[i], rows.gradients[i], rows.dim,
            rows.step.learning_rate);
  }
}

template <bool nesterov>
PERSIA_ROW_FUNCTION void StepMomentumRow(float* __restrict weights,
                                         float* __restrict velocity,
                                         const float* __restrict gradient,
                                         size_t dim, float rate,
                                         float momentum) {
  for (size_t d = 0; d < dim; ++d) {
    const float step = gradient[d] * rate;
    const float v = velocity[d] * momentum - step;
    velocity[d] = v;
    weights[d] += nesterov ? v * momentum - step : v;
  }
}

PERSIA_VECTORIZE void StepMomentumRows(const RowUpdates& rows, float momentum) {
  for (size_t i = 0; i < rows.count; ++i) {
    StepMomentumRow<false>(rows.weights[i], rows.states[i], rows.gradients[i],
                           rows.dim, rows.step.learning_rate, momentum);
  }
}

PERSIA_VECTORIZE void StepNesterovRows(const RowUpdates& rows, float momentum) {
  for (size_t i = 0; i < rows.count; ++i) {
    StepMomentumRow<true>(rows.weights[i], rows.states[i], rows.gradients[i],
                          rows.dim, rows.step.learning_rate, momentum);
  }
}

class Sgd : public Optimizer {
 public:
  size_t state_size(size_t) const override { return 0; }

  void InitState(float*, size_t) const override {}

  void Update(const RowUpdates& rows) const override { StepRows(rows); }
};

class MomentumSgd : public Optimizer {
 public:
  MomentumSgd(float momentum, bool nesterov)
      : momentum_(momentum), nesterov_(nesterov) {}

  size_t state_size(size_t dim) const override { return dim; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, dim, 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    if (nesterov_) {
      StepNesterovRows(rows, momentum_);
    } else {
      StepMomentumRows(rows, momentum_);
    }
  }

 private:
  const float momentum_;
  const bool nesterov_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeSgd(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      CheckRuleParams(spec, {"momentum", "nesterov", "dense"}));
  const double momentum = spec.Get("momentum", 0);
  const double nesterov = spec.Get("nesterov", 0);
  PERSIA_RETURN_IF_ERROR(CheckMomentum(spec, "momentum", momentum));
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "nesterov", nesterov));
  const double dense = spec.Get("dense", 0);
  PERSIA_RETURN_IF_ERROR(CheckFlag(spec, "dense", dense));
  if (momentum != 0 && dense != 0) {
    return MakeDenseMomentum(static_cast<float>(momentum), nesterov != 0);
  }
  std::unique_ptr<Optimizer> made = std::make_unique<Sgd>();
  if (momentum != 0) {
    made = std::make_unique<MomentumSgd>(static_cast<float>(momentum),
                                         nesterov != 0);
  }
  return made;
}

}  // namespace persia
