// A dense form of Adam: it has the effect of stepping all rows in every step,
// with or without a gradient. See adam.h and missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_
#define PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_

#include <memory>

#include "cc/optimizer/adam_moments.h"
#include "cc/optimizer/optimizer.h"

namespace persia {

// A row's state is its first moment, its second moment and, with AMSGrad, its
// greatest second moment, `dim` numbers each, followed by the row's clock (see
// missed_steps.h).
std::unique_ptr<Optimizer> MakeDenseAdam(const AdamParams& params,
                                         bool amsgrad);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_
