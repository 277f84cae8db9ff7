#include "cc/optimizer/optimizer.h"

#include "cc/optimizer/adagrad.h"
#include "cc/optimizer/adam.h"
#include "cc/optimizer/sgd.h"

namespace persia {

Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec) {
  if (spec.name == "sgd") return MakeSgd(spec);
  if (spec.name == "adagrad") return MakeAdagrad(spec);
  if (spec.name == "adam") return MakeAdam(spec);
  return InvalidArgument("optimizer must be sgd, adagrad or adam, received \"",
                         spec.name, "\"");
}

}  // namespace persia
