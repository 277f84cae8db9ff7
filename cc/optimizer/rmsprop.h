// rmsprop(rho=0.9,momentum=0,epsilon=1e-7,centered=0): Keras's RMSprop. A row's
// state is its average of squared gradients, then with momentum its velocity,
// then if centered its average gradient. With dense=1: see dense_rmsprop.h.

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
