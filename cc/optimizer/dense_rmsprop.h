// RMSprop that steps all rows in every step: see rmsprop.h and missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_
#define PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_

#include <memory>

#include "cc/optimizer/optimizer.h"
#include "cc/optimizer/rmsprop.h"

namespace persia {

// The state is that of RMSprop, followed by the row's clock.
std::unique_ptr<Optimizer> MakeDenseRmsprop(const RmspropParams& params);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_
