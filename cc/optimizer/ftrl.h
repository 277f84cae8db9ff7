// ftrl(learning_rate_power=-0.5,initial_accumulator_value=0.1,
// l1_regularization_strength=0,l2_regularization_strength=0,
// l2_shrinkage_regularization_strength=0,beta=0): Keras's Ftrl. A row's state
// is its accumulator, then its linear term.
//
// An update computes the weights from the state alone. A new row's state does
// not account for the row's initial weights: the first update adds only a part
// of them to the linear term (the term `sigma * w`), so it shrinks them. An
// update with a learning rate below 1e-20 does nothing, since the formula
// divides by the learning rate.
//
// learning_rate_power must be between -2 and 0: below -2, ordinary sums of
// squared gradients overflow when raised to the power -learning_rate_power.

#ifndef PERSIA_CC_OPTIMIZER_FTRL_H_
#define PERSIA_CC_OPTIMIZER_FTRL_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeFtrl(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_FTRL_H_
