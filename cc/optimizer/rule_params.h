// Checks of parameters that several rules share. Each returns InvalidArgument
// with the rule, the parameter, its permitted values and the value received.

#ifndef PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_
#define PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_

#include <initializer_list>
#include <string_view>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// Checks that every parameter is one of `own` or an option of every rule.
Status CheckRuleParams(const Spec& spec,
                       std::initializer_list<std::string_view> own);

// At least 0, and finite in float32.
Status CheckNotNegative(const Spec& spec, std::string_view param, double value);

// Above 0 and finite, in float32.
Status CheckPositive(const Spec& spec, std::string_view param, double value);

// A moving average's decay: at least 0 and, in float32, below 1.
Status CheckDecay(const Spec& spec, std::string_view param, double value);

// Between 0 and 1, both included.
Status CheckMomentum(const Spec& spec, std::string_view param, double value);

// 0 or 1.
Status CheckFlag(const Spec& spec, std::string_view param, double value);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_RULE_PARAMS_H_
