#include "cc/optimizer/optimizer.h"

#include <string>
#include <utility>

#include "cc/optimizer/adagrad.h"
#include "cc/optimizer/adam.h"
#include "cc/optimizer/ftrl.h"
#include "cc/optimizer/lamb.h"
#include "cc/optimizer/rmsprop.h"
#include "cc/optimizer/row_options.h"
#include "cc/optimizer/rowwise_adagrad.h"
#include "cc/optimizer/sgd.h"
#include "cc/optimizer/undecided.h"

namespace persia {
namespace {

struct Rule {
  const char* name;
  Result<std::unique_ptr<Optimizer>> (*make)(const Spec& spec);
};

constexpr Rule kRules[] = {
    {"adagrad", MakeAdagrad},
    {"adam", MakeAdam},
    {"adamw", MakeAdam},
    {"ftrl", MakeFtrl},
    {"lamb", MakeLamb},
    {"rmsprop", MakeRmsprop},
    {"rowwise_adagrad", MakeRowWiseAdagrad},
    {"sgd", MakeSgd},
    {kUndecided, MakeUndecided},
};

Status UnknownRule(const Spec& spec) {
  std::string names;
  for (const Rule& rule : kRules) {
    // Users cannot choose this rule, so the message does not list it.
    if (rule.make == MakeUndecided) continue;
    names += names.empty() ? "" : ", ";
    names += rule.name;
  }
  return InvalidArgument("optimizer must be one of ", names, ", received \"",
                         spec.name, "\"");
}

}  // namespace

Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec) {
  for (const Rule& rule : kRules) {
    if (spec.name != rule.name) continue;
    auto made = rule.make(spec);
    if (!made.ok()) return made.status();
    return WithRowOptions(std::move(*made), spec);
  }
  return UnknownRule(spec);
}

}  // namespace persia
