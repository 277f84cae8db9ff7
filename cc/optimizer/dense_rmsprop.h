// A dense form of RMSprop: it has the effect of stepping all rows in every
// step, with or without a gradient. See rmsprop.h and missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_
#define PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_

#include <memory>

#include "cc/optimizer/optimizer.h"
#include "cc/optimizer/rmsprop.h"

namespace persia {

// A row's state is the state that RMSprop has (see rmsprop.h), followed by the
// row's clock (see missed_steps.h).
std::unique_ptr<Optimizer> MakeDenseRmsprop(const RmspropParams& params);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_RMSPROP_H_
