// CheckParam: makes the error for an optimizer's or initializer's parameter
// that is out of range.

#ifndef PERSIA_CC_BASE_PARAM_CHECK_H_
#define PERSIA_CC_BASE_PARAM_CHECK_H_

#include <string>
#include <string_view>

#include "cc/base/number.h"
#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// Returns OK if `holds`, otherwise InvalidArgument. `what` names the kind of
// setting, such as "optimizer"; `rule` completes the message "<param> must be".
inline Status CheckParam(bool holds, std::string_view what, const Spec& spec,
                         std::string_view param, double value,
                         std::string_view rule) {
  if (holds) return Status();
  return InvalidArgument(what, " ", spec.name, ": ", param, " must be ", rule,
                         ", received ", NumberText(value));
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_PARAM_CHECK_H_
