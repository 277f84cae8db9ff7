#include "cc/optimizer/lamb.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/adam_moments.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION void AverageRow(float* __restrict first,
                                    float* __restrict second,
                                    const float* __restrict gradient,
                                    size_t dim, float rate_1, float rate_2) {
  for (size_t d = 0; d < dim; ++d) {
    const float g = gradient[d];
    first[d] = Averaged(first[d], g, rate_1);
    second[d] = Averaged(second[d], g * g, rate_2);
  }
}

PERSIA_ROW_FUNCTION float Direction(float first, float second,
                                    Corrections corrections, float epsilon) {
  return first / corrections.first /
         (std::sqrt(second / corrections.second) + epsilon);
}

PERSIA_ROW_FUNCTION float NormOfDirection(const float* __restrict first,
                                          const float* __restrict second,
                                          size_t dim, Corrections corrections,
                                          float epsilon) {
  return std::sqrt(LaneSum(
      dim, [=](size_t d) __attribute__((always_inline)) {
        const float u = Direction(first[d], second[d], corrections, epsilon);
        return u * u;
      }));
}

// Moves the weights along the direction, which is computed a second time
// because there is no buffer to store it in.
PERSIA_ROW_FUNCTION void MoveRow(float* __restrict weights,
                                 const float* __restrict first,
                                 const float* __restrict second, size_t dim,
                                 Corrections corrections, float epsilon,
                                 float rate) {
  for (size_t d = 0; d < dim; ++d) {
    weights[d] -= rate * Direction(first[d], second[d], corrections, epsilon);
  }
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows,
                               const AdamParams& params) {
  const size_t dim = rows.dim;
  for (size_t i = 0; i < rows.count; ++i) {
    float* const weights = rows.weights[i];
    float* const first = rows.states[i];
    float* const second = first + dim;
    const Corrections corrections = CountUpdate(first + 2 * dim, params);
    AverageRow(first, second, rows.gradients[i], dim, params.rate_1,
               params.rate_2);
    const float weight_norm = std::sqrt(SumOfSquares(weights, dim));
    const float direction_norm =
        NormOfDirection(first, second, dim, corrections, params.epsilon);
    const bool both = weight_norm > 0 && direction_norm > 0;
    const float trust = both ? weight_norm / direction_norm : 1.0f;
    MoveRow(weights, first, second, dim, corrections, params.epsilon,
            trust * rows.step.learning_rate);
  }
}

class Lamb : public Optimizer {
 public:
  explicit Lamb(const AdamParams& params) : params_(params) {}

  size_t state_size(size_t dim) const override { return 2 * dim + 1; }

  void InitState(float* state, size_t dim) const override {
    std::fill_n(state, state_size(dim), 0.0f);
  }

  void Update(const RowUpdates& rows) const override {
    StepRows(rows, params_);
  }

 private:
  const AdamParams params_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeLamb(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(
      CheckRuleParams(spec, {"beta_1", "beta_2", "epsilon"}));
  const auto params = ReadAdamParams(spec);
  if (!params.ok()) return params.status();
  return std::unique_ptr<Optimizer>(std::make_unique<Lamb>(*params));
}

}  // namespace persia
