// Reads bags of ids from the inputs of an op: the combiner, and where each bag
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

// Parses "none", "sum", "mean" or "sqrtn". Returns InvalidArgument for any
// other text.
Result<Combiner> ParseCombiner(const std::string& text);

// The offsets at which the bags of a lookup begin. A dense tensor of ids needs
// no row splits, since each row of its innermost axis is a bag.
class BagOffsets {
 public:
  // `splits` are int32 row splits, or empty if `ids` are dense. Returns
  // kInvalidArgument if the ids form bags, `splits` is empty and `ids` is a
  // scalar.
  static Result<BagOffsets> Of(Combiner combiner, const TfTensor& ids,
                               TfTensor splits);

  // Returns the offsets in the form of TableIds::bag_offsets. Negative splits
  // become offsets that the session rejects.
  Span<const uint32_t> offsets() const {
    return splits_ == nullptr ? Span<const uint32_t>(own_)
                              : Values<const uint32_t>(splits_);
  }

 private:
  // If null, own_ has the offsets.
  TfTensor splits_{nullptr, &TF_DeleteTensor};
  std::vector<uint32_t> own_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPS_BAGS_H_
