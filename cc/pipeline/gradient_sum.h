// Sums one table's gradients of one step for its update: one gradient per
// unique id, or one per bag if the service pools all of the bags.

#ifndef PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
#define PERSIA_CC_PIPELINE_GRADIENT_SUM_H_

#include <vector>

#include "cc/base/span.h"
#include "cc/pipeline/step_ledger.h"
#include "cc/service/embedding_service.h"

namespace persia {

// The summed gradients of one table. `ids` and `gradients` are views of the
// step's memory or of the `own_*` fields, so they are valid while both this
// object and the step exist. The object may be moved.
struct SummedGradients {
  TableIds ids;
  Span<const float> gradients;  // ids.vectors() x dim floats.

  std::vector<int64_t> own_ids;
  std::vector<uint32_t> own_offsets;
  std::vector<float> own_gradients;
};

// Sums the gradients of one table in one step. Precondition: the step has at
// least one part. A single part is not copied if it had no duplicate ids, or if
// it goes to the service as bags.
SummedGradients SumGradients(const TableStep& step);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_GRADIENT_SUM_H_
