// Bags of ids in the form of the ops' inputs: a combiner, and where each bag
// begins.

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

// Where the bags of a lookup begin. Dense ids need no splits: each row of the
// innermost axis is a bag.
class BagOffsets {
 public:
  // `splits` are int32 row splits, or empty. kInvalidArgument if they are empty
  // and `ids` is a scalar, unless there are no bags.
  static Result<BagOffsets> Of(Combiner combiner, const TfTensor& ids,
                               TfTensor splits);

  // As TableIds::bag_offsets. Negative splits become offsets that the session
  // rejects.
  Span<const uint32_t> offsets() const {
    return splits_ == nullptr ? Span<const uint32_t>(own_)
                              : Values<const uint32_t>(splits_);
  }

 private:
  TfTensor splits_{nullptr, &TF_DeleteTensor};  // Null: own_ has the offsets.
  std::vector<uint32_t> own_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPS_BAGS_H_
