// weight_bound: what a step moves beyond [-bound, bound] is brought back.

#ifndef PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_
#define PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

std::unique_ptr<Optimizer> WithWeightBound(std::unique_ptr<Optimizer> rule,
                                           float bound);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_WEIGHT_BOUND_H_
