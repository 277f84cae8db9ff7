// Bags of ids, as the ops take them: a combiner, and where each bag begins.

#ifndef PERSIA_CC_OPS_BAGS_H_
#define PERSIA_CC_OPS_BAGS_H_

#include <cstdint>
#include <string>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "cc/service/embedding_service.h"

namespace persia {

// "none", "sum", "mean" or "sqrtn".
Result<Combiner> ParseCombiner(const std::string& text);

// int32 row splits as offsets. Negative ones become such as the session
// refuses. Views of the tensor.
inline Span<const uint32_t> BagOffsets(const TfTensor& splits) {
  return Values<const uint32_t>(splits);
}

}  // namespace persia

#endif  // PERSIA_CC_OPS_BAGS_H_
