#include "cc/optimizer/row_options.h"

#include <string>
#include <utility>

#include "cc/base/param_check.h"
#include "cc/optimizer/clipping.h"
#include "cc/optimizer/rule_params.h"
#include "cc/optimizer/weight_bound.h"
#include "cc/optimizer/weight_decay.h"

namespace persia {
namespace {

constexpr char kClipnorm[] = "clipnorm";
constexpr char kClipvalue[] = "clipvalue";
constexpr char kWeightBound[] = "weight_bound";
constexpr char kWeightDecay[] = "weight_decay";

// Only AdamW decays weights by default, with Keras's default value.
double DefaultWeightDecay(const Spec& spec) {
  return spec.name == "adamw" ? 0.004 : 0;
}

// Sets `limit` to the value of `param`, or to 0 if the parameter is absent.
// Returns InvalidArgument if the value is not above 0.
Status ReadLimit(const Spec& spec, const std::string& param, float* limit) {
  *limit = 0;
  const auto found = spec.params.find(param);
  if (found == spec.params.end()) return Status();
  PERSIA_RETURN_IF_ERROR(CheckPositive(spec, param, found->second));
  *limit = static_cast<float>(found->second);
  return Status();
}

}  // namespace

Spec WithoutRowOptions(Spec spec) {
  for (const char* param :
       {kClipnorm, kClipvalue, kWeightBound, kWeightDecay}) {
    spec.params.erase(param);
  }
  return spec;
}

Result<std::unique_ptr<Optimizer>> WithRowOptions(
    std::unique_ptr<Optimizer> rule, const Spec& spec) {
  float clipnorm, clipvalue, bound;
  PERSIA_RETURN_IF_ERROR(ReadLimit(spec, kClipnorm, &clipnorm));
  PERSIA_RETURN_IF_ERROR(ReadLimit(spec, kClipvalue, &clipvalue));
  PERSIA_RETURN_IF_ERROR(ReadLimit(spec, kWeightBound, &bound));
  PERSIA_RETURN_IF_ERROR(CheckParam(clipnorm == 0 || clipvalue == 0,
                                    "optimizer", spec, kClipvalue, clipvalue,
                                    "left out where clipnorm is given"));
  const double decay = spec.Get(kWeightDecay, DefaultWeightDecay(spec));
  PERSIA_RETURN_IF_ERROR(CheckNotNegative(spec, kWeightDecay, decay));

  // A step clips gradients, then decays weights, then runs the rule, then
  // bounds weights. So weight decay wraps the rule, clipping wraps the decay,
  // and the bound is outermost.
  std::unique_ptr<Optimizer> made = std::move(rule);
  if (decay != 0) {
    made = WithWeightDecay(std::move(made), static_cast<float>(decay));
  }
  if (clipnorm != 0) made = WithClippedNorm(std::move(made), clipnorm);
  if (clipvalue != 0) made = WithClippedValues(std::move(made), clipvalue);
  if (bound != 0) made = WithWeightBound(std::move(made), bound);
  return made;
}

}  // namespace persia
