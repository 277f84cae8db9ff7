// lamb(beta_1=0.9,beta_2=0.999,epsilon=1e-7): Keras's Lamb where a row is a
// variable of its own: its trust ratio is of its own norms, its bias correction
// counts its own updates. A row's state is its first moment, its second moment,
// then that count.

#ifndef PERSIA_CC_OPTIMIZER_LAMB_H_
#define PERSIA_CC_OPTIMIZER_LAMB_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeLamb(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_LAMB_H_
