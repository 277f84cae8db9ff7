// adam(beta_1=0.9,beta_2=0.999,epsilon=1e-7,amsgrad=0), and adamw, which adds
// weight decay: a lazy form of Keras's Adam. The bias correction counts the
// row's own updates. A row's state is its first moment, its second moment, the
// greatest second moment so far (only with AMSGrad), and the count of updates.
// With dense=1 the rule is not lazy: see dense_adam.h.

#ifndef PERSIA_CC_OPTIMIZER_ADAM_H_
#define PERSIA_CC_OPTIMIZER_ADAM_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeAdam(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ADAM_H_
