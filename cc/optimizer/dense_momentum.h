// A dense form of SGD with momentum: it has the effect of stepping all rows in
// every step, with or without a gradient. See sgd.h and missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_
#define PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

// A row's state is its velocity, followed by its clock (see missed_steps.h).
std::unique_ptr<Optimizer> MakeDenseMomentum(float momentum, bool nesterov);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_
