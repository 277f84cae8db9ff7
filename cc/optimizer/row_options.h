// Options that every optimizer rule accepts. Each option wraps the rule, so
// options that are not used cost nothing.
//
//   clipnorm=C      scales a row's gradient to a norm of at most C
//   clipvalue=C     clips each value of a gradient to [-C, C]
//   weight_decay=D  weights -= learning_rate * D * weights, before the rule's
//                   step
//   weight_bound=B  clips each weight to [-B, B], after the rule's step
//
// Only one of clipnorm and clipvalue may be given, as in Keras.

#ifndef PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_
#define PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

inline constexpr char kRowOptionNames[] =
    "clipnorm, clipvalue, weight_bound, weight_decay";

// Returns `spec` without the options that every rule accepts.
Spec WithoutRowOptions(Spec spec);

// Returns `rule` wrapped in the options of `spec`. Returns InvalidArgument if
// an option is out of range.
Result<std::unique_ptr<Optimizer>> WithRowOptions(
    std::unique_ptr<Optimizer> rule, const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_
