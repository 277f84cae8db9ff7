// adagrad(initial_accumulator_value=0.1,epsilon=1e-7): Keras's Adagrad. A row's
// state is its sum of squared gradients.

#ifndef PERSIA_CC_OPTIMIZER_ADAGRAD_H_
#define PERSIA_CC_OPTIMIZER_ADAGRAD_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

struct AdagradParams {
  float initial_accumulator_value;
  float epsilon;
};

// Reads the parameters of Adagrad and of its row-wise variant. Returns
// InvalidArgument if a parameter is unknown or out of range.
Result<AdagradParams> ReadAdagradParams(const Spec& spec);

Result<std::unique_ptr<Optimizer>> MakeAdagrad(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ADAGRAD_H_
