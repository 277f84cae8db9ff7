// Turns one table's gradients of one step into what its update brings: one
// gradient a unique id; or one a bag, where the service pools all of them.

#ifndef PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
#define PERSIA_CC_PIPELINE_GRADIENT_SUM_H_

#include <vector>

#include "cc/base/span.h"
#include "cc/pipeline/step_ledger.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Views of the step's memory, or of `own_*`, whichever was needed: valid while
// both this object and the step are. May be moved.
struct SummedGradients {
  TableIds ids;
  Span<const float> gradients;  // ids.vectors() x dim.

  std::vector<int64_t> own_ids;
  std::vector<uint32_t> own_offsets;
  std::vector<float> own_gradients;
};

// Precondition: the step has at least one part. Copies nothing if its only part
// had no duplicate ids, or goes as bags.
SummedGradients SumGradients(const TableStep& step);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
