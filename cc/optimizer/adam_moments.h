// What Adam and Lamb share: their parameters, their moving averages of the
// gradient and of its square, and the correction of the bias that both averages
// have because they start at 0.

#ifndef PERSIA_CC_OPTIMIZER_ADAM_MOMENTS_H_
#define PERSIA_CC_OPTIMIZER_ADAM_MOMENTS_H_

#include <cmath>

#include "cc/optimizer/optimizer.h"
#include "cc/optimizer/row_math.h"
#include "cc/optimizer/rule_params.h"

namespace persia {

// The parameters of Adam and Lamb, each in the precision in which Keras uses
// it.
struct AdamParams {
  float beta_1;
  float beta_2;
  float rate_1;  // 1 - beta_1.
  float rate_2;  // 1 - beta_2.
  float epsilon;
};

inline Result<AdamParams> ReadAdamParams(const Spec& spec) {
  const double beta_1 = spec.Get("beta_1", 0.9);
  const double beta_2 = spec.Get("beta_2", 0.999);
  const double epsilon = spec.Get("epsilon", 1e-7);
  PERSIA_RETURN_IF_ERROR(CheckDecay(spec, "beta_1", beta_1));
  PERSIA_RETURN_IF_ERROR(CheckDecay(spec, "beta_2", beta_2));
  // With an epsilon of 0, a zero gradient would divide 0 by 0.
  PERSIA_RETURN_IF_ERROR(CheckPositive(spec, "epsilon", epsilon));
  AdamParams params;
  params.beta_1 = static_cast<float>(beta_1);
  params.beta_2 = static_cast<float>(beta_2);
  params.rate_1 = static_cast<float>(1 - beta_1);
  params.rate_2 = static_cast<float>(1 - beta_2);
  params.epsilon = static_cast<float>(epsilon);
  return params;
}

// The bias corrections 1 - beta^t after t updates. They are computed in
// float32, as in Keras: for small t, float32 loses so many digits of 1 - beta^t
// that a result computed in double would differ from Keras's in the fifth
// digit.
struct Corrections {
  float first;
  float second;
};

// Counts an update in `updates` and returns the corrections for the new count.
// The count stops rising at 2^24; by then both corrections are 1.
inline Corrections CountUpdate(float* updates, const AdamParams& params) {
  *updates += 1;
  return {1 - std::pow(params.beta_1, *updates),
          1 - std::pow(params.beta_2, *updates)};
}

PERSIA_ROW_FUNCTION float Averaged(float average, float value, float rate) {
  return average + (value - average) * rate;
}

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ADAM_MOMENTS_H_
