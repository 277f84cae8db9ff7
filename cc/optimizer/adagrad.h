// adagrad(initial_accumulator_value=0.1,epsilon=1e-7): Keras's Adagrad. A row's
// state is its sum of squared gradients.

#ifndef PERSIA_CC_OPTIMIZER_ADAGRAD_H_
#define PERSIA_CC_OPTIMIZER_ADAGRAD_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeAdagrad(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ADAGRAD_H_
