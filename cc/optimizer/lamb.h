// lamb(beta_1=0.9,beta_2=0.999,epsilon=1e-7): Keras's Lamb, with each row
// treated as a variable of its own: the trust ratio is computed from the row's
// norms, and the bias correction counts the row's updates. A row's state is its
// first moment, its second moment, and the count of its updates.

#ifndef PERSIA_CC_OPTIMIZER_LAMB_H_
#define PERSIA_CC_OPTIMIZER_LAMB_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeLamb(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_LAMB_H_
