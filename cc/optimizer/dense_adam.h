// Adam that steps all rows in every step: see adam.h and missed_steps.h.

#ifndef PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_
#define PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_

#include <memory>

#include "cc/optimizer/adam_moments.h"
#include "cc/optimizer/optimizer.h"

namespace persia {

// The state is the first moment, the second moment and with AMSGrad the
// greatest second moment, `dim` numbers each, followed by the row's clock.
std::unique_ptr<Optimizer> MakeDenseAdam(const AdamParams& params,
                                         bool amsgrad);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_DENSE_ADAM_H_
