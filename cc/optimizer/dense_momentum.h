// SGD with momentum that steps all rows in every step: see sgd.h and
// missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_
#define PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

// The state is the velocity, followed by the row's clock.
std::unique_ptr<Optimizer> MakeDenseMomentum(float momentum, bool nesterov);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_MOMENTUM_H_
