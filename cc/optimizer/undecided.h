// The rule of a table whose optimizer is not known yet, because the program
// that creates the table learns the optimizer only at its first training step.
// Until then the table's rows have weights and no state, and a service refuses
// to update them.

#ifndef PERSIA_CC_OPTIMIZER_UNDECIDED_H_
#define PERSIA_CC_OPTIMIZER_UNDECIDED_H_

#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"
#include "cc/optimizer/optimizer.h"

namespace persia {

inline constexpr char kUndecided[] = "undecided";

inline bool IsUndecided(const Spec& optimizer) {
  return optimizer.name == kUndecided;
}

// Creates the undecided rule, which has no parameters. Its Update does nothing.
Result<std::unique_ptr<Optimizer>> MakeUndecided(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_UNDECIDED_H_
