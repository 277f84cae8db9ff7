// Bags of ids, as the ops take them: a combiner, and where each bag begins.

#ifndef PERSIA_CC_OPS_BAGS_H_
#define PERSIA_CC_OPS_BAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/ops/kernel_util.h"
#include "cc/service/embedding_service.h"

namespace persia {

// "none", "sum", "mean" or "sqrtn".
Result<Combiner> ParseCombiner(const std::string& text);

// Where the bags of a lookup begin. Those of dense ids need no splits: then
// each innermost row is a bag.
class BagOffsets {
 public:
  // Of int32 row splits, or of none. kInvalidArgument for ids without an axis.
  static Result<BagOffsets> Of(Combiner combiner, const TfTensor& ids,
                               TfTensor splits);

  // As of a TableIds. Negative splits become such as the session refuses.
  Span<const uint32_t> offsets() const {
    return splits_ == nullptr ? Span<const uint32_t>(own_)
                              : Values<const uint32_t>(splits_);
  }

 private:
  TfTensor splits_{nullptr, &TF_DeleteTensor};  // Null: there are none.
  std::vector<uint32_t> own_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPS_BAGS_H_
