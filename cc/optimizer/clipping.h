// Keras's clipnorm and clipvalue, with each row treated as a variable of its
// own. Both clip the sum of a row's gradients in one step.

#ifndef PERSIA_CC_OPTIMIZER_CLIPPING_H_
#define PERSIA_CC_OPTIMIZER_CLIPPING_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

std::unique_ptr<Optimizer> WithClippedNorm(std::unique_ptr<Optimizer> rule,
                                           float clipnorm);

std::unique_ptr<Optimizer> WithClippedValues(std::unique_ptr<Optimizer> rule,
                                             float clipvalue);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_CLIPPING_H_
