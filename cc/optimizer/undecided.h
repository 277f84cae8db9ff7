// The rule of a table whose optimizer is not known yet, since the program that
// makes the table learns it from its first step: such rows have weights alone.
// A service refuses their updates.

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

// Without parameters. Its Update changes nothing.
Result<std::unique_ptr<Optimizer>> MakeUndecided(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_UNDECIDED_H_
