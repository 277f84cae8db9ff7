// Turns one table's gradients of one step into one gradient a unique id.

#ifndef PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
#define PERSIA_CC_PIPELINE_GRADIENT_SUM_H_

#include <vector>

#include "cc/base/span.h"
#include "cc/pipeline/step_ledger.h"

namespace persia {

// Views of the step's memory, or of `own_*`, whichever was needed: valid while
// both this object and the step are. May be moved.
struct SummedGradients {
  Span<const int64_t> ids;
  Span<const float> gradients;  // ids.size() x dim.

  std::vector<int64_t> own_ids;
  std::vector<float> own_gradients;
};

// Precondition: the step has at least one part. Copies nothing if its only part
// had no duplicate ids.
SummedGradients SumGradients(const TableStep& step);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
