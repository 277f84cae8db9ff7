// Options that every rule takes. A rule without any is used as it is, so they
// cost nothing where they are not asked for.
//
//   clipnorm=C      a row's gradient is scaled to a norm of at most C
//   clipvalue=C     each value of a gradient is brought into [-C, C]
//   weight_decay=D  weights -= learning_rate * D * weights, before the rule
//   weight_bound=B  each weight is brought into [-B, B], after the rule
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

// `rule` with the options of `spec`. InvalidArgument if one is out of range.
Result<std::unique_ptr<Optimizer>> WithRowOptions(
    std::unique_ptr<Optimizer> rule, const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_ROW_OPTIONS_H_
