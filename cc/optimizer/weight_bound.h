// The option weight_bound: clips weights to [-bound, bound] after each step.

#ifndef PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_
#define PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

std::unique_ptr<Optimizer> WithWeightBound(std::unique_ptr<Optimizer> rule,
                                           float bound);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_
