// rmsprop(rho=0.9,momentum=0,epsilon=1e-7,centered=0): Keras's RMSprop. A row's
// state is its average of squared gradients, its velocity (only with momentum)
// and its average gradient (only if centered). With dense=1 the rule is not
// lazy: see dense_rmsprop.h.

#ifndef PERSIA_CC_OPTIMIZER_RMSPROP_H_
#define PERSIA_CC_OPTIMIZER_RMSPROP_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

struct RmspropParams {
  float rho;
  float rest;  // 1 - rho.
  float momentum;
  float epsilon;
  bool centered;
};

Result<std::unique_ptr<Optimizer>> MakeRmsprop(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_RMSPROP_H_
