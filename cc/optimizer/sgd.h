// sgd(momentum=0,nesterov=0): Keras's SGD. With momentum, a row's state is its
// velocity; without momentum, a row has no state. With momentum and dense=1 the
// rule is not lazy: see dense_momentum.h.

#ifndef PERSIA_CC_OPTIMIZER_SGD_H_
#define PERSIA_CC_OPTIMIZER_SGD_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeSgd(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_SGD_H_
