#include "cc/optimizer/rowwise_adagrad.h"

#include <algorithm>
#include <cmath>

#include "cc/base/vectorize.h"
#include "cc/optimizer/adagrad.h"
#include "cc/optimizer/row_math.h"

namespace persia {
namespace {

PERSIA_ROW_FUNCTION void StepRow(float* __restrict weights,
                                 float* __restrict accumulator,
                                 const float* __restrict gradient, size_t dim,
                                 float rate, float epsilon) {
  const float squares = SumOfSquares(gradient, dim);
  const float sum = *accumulator + squares / static_cast<float>(dim);
  *accumulator = sum;
  const float divisor = std::sqrt(sum + epsilon);
  for (size_t d = 0; d < dim; ++d) weights[d] -= rate * gradient[d] / divisor;
}

PERSIA_VECTORIZE void StepRows(const RowUpdates& rows, float epsilon) {
  for (size_t i = 0; i < rows.count; ++i) {
    StepRow(rows.weights[i], rows.states[i], rows.gradients[i], rows.dim,
            rows.step.learning_rate, epsilon);
  }
}

class RowWiseAdagrad : public Optimizer {
 public:
  RowWiseAdagrad(float initial_accumulator_value, float epsilon)
      : initial_accumulator_value_(initial_accumulator_value),
        epsilon_(epsilon) {}

  size_t state_size(size_t) const override { return 1; }

  void InitState(float* state, size_t) const override {
    *state = initial_accumulator_value_;
  }

  void Update(const RowUpdates& rows) const override {
    StepRows(rows, epsilon_);
  }

 private:
  const float initial_accumulator_value_;
  const float epsilon_;
};

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeRowWiseAdagrad(const Spec& spec) {
  const Result<AdagradParams> params = ReadAdagradParams(spec);
  if (!params.ok()) return params.status();
  return std::unique_ptr<Optimizer>(std::make_unique<RowWiseAdagrad>(
      params->initial_accumulator_value, params->epsilon));
}

}  // namespace persia
