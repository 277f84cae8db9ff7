// weight_decay: Keras's, decoupled from the gradient (Loshchilov and Hutter,
// 2019). It is lazy as rules are: it takes from the rows that a step touches.

#ifndef PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_
#define PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

std::unique_ptr<Optimizer> WithWeightDecay(std::unique_ptr<Optimizer> rule,
                                           float decay);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_
