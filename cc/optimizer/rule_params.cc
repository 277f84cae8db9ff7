#include "cc/optimizer/rule_params.h"

#include <cfloat>

#include "cc/base/param_check.h"
#include "cc/optimizer/row_options.h"

namespace persia {

Status CheckRuleParams(const Spec& spec,
                       std::initializer_list<std::string_view> own) {
  const Status status = WithoutRowOptions(spec).CheckParams("optimizer", own);
  if (status.ok()) return status;
  return InvalidArgument(status.message(), " and, like every optimizer, ",
                         kRowOptionNames);
}

Status CheckNotNegative(const Spec& spec, std::string_view param,
                        double value) {
  return CheckParam(value >= 0 && value <= FLT_MAX, "optimizer", spec, param,
                    value, "at least 0 and within the range of float32");
}

Status CheckPositive(const Spec& spec, std::string_view param, double value) {
  const bool holds =
      value > 0 && value <= FLT_MAX && static_cast<float>(value) > 0;
  return CheckParam(holds, "optimizer", spec, param, value,
                    "above 0 and within the range of float32");
}

Status CheckDecay(const Spec& spec, std::string_view param, double value) {
  const bool holds = value >= 0 && value < 1 && static_cast<float>(value) < 1;
  return CheckParam(holds, "optimizer", spec, param, value,
                    "at least 0 and, rounded to float32, below 1");
}

Status CheckMomentum(const Spec& spec, std::string_view param, double value) {
  return CheckParam(value >= 0 && value <= 1, "optimizer", spec, param, value,
                    "between 0 and 1");
}

Status CheckFlag(const Spec& spec, std::string_view param, double value) {
  return CheckParam(value == 0 || value == 1, "optimizer", spec, param, value,
                    "0 or 1");
}

}  // namespace persia
