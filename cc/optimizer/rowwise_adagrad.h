// rowwise_adagrad(initial_accumulator_value=0.1,epsilon=1e-7): Adagrad with one
// accumulator per row, which adds up the mean square of each gradient. So a
// row's state is one number.

#ifndef PERSIA_CC_OPTIMIZER_ROWWISE_ADAGRAD_H_
#define PERSIA_CC_OPTIMIZER_ROWWISE_ADAGRAD_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeRowWiseAdagrad(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ROWWISE_ADAGRAD_H_
