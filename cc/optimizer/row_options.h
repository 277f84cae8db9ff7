// Options that every rule accepts. A rule without options is not wrapped, so
// options cost nothing unless they are used.
//
//   clipnorm=C      scales a row's gradient to a norm of at most C
//   clipvalue=C     clips each value of a gradient to [-C, C]
//   weight_decay=D  weights -= learning_rate * D * weights, before the rule
//   weight_bound=B  clips each weight to [-B, B], after the rule
//
// Only one of clipnorm and clipvalue may be given, as in Keras.

#ifndef PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_
#define PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_

#include <memory>

#include "cc/optimizer/optimizer.h"

namespace persia {

inline constexpr char kRowOptionNames[] =
    "clipnorm, clipvalue, weight_bound, weight_decay";

// `spec` without the options.
Spec WithoutRowOptions(Spec spec);

// `rule` wrapped in the options of `spec`. InvalidArgument if one is out of
// range.
Result<std::unique_ptr<Optimizer>> WithRowOptions(
    std::unique_ptr<Optimizer> rule, const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_
