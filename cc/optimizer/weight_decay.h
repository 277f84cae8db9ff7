// The option weight_decay, as in Keras: decoupled from the gradient (Loshchilov
// and Hutter, 2019). Weight decay is lazy like the rules: it shrinks only the
// rows that a step updates.

#ifndef PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_
#define PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

std::unique_ptr<Optimizer> WithWeightDecay(std::unique_ptr<Optimizer> rule,
                                           float decay);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_WEIGHT_DECAY_H_
