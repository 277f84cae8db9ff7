// Checks of parameters; several rules use each check. A check that fails
// returns InvalidArgument with the rule, the parameter, its permitted values
// and the value received.

#ifndef PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_
#define PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_

#include <initializer_list>
#include <string_view>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// Checks that every parameter of `spec` is one of the rule's `own` parameters
// or an option that every rule accepts.
Status CheckRuleParams(const Spec& spec,
                       std::initializer_list<std::string_view> own);

// Checks that the value is at least 0, and finite in float32.
Status CheckNotNegative(const Spec& spec, std::string_view param, double value);

// Checks that the value is above 0 and finite, in float32.
Status CheckPositive(const Spec& spec, std::string_view param, double value);

// Checks the decay of a moving average: at least 0 and, in float32, below 1.
Status CheckDecay(const Spec& spec, std::string_view param, double value);

// Checks that the value is between 0 and 1, both included.
Status CheckMomentum(const Spec& spec, std::string_view param, double value);

// Checks that the value is 0 or 1.
Status CheckFlag(const Spec& spec, std::string_view param, double value);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_
