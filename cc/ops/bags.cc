#include "cc/ops/bags.h"

#include <utility>

namespace persia {
namespace {

std::vector<uint32_t> InnermostRows(const TfTensor& ids) {
  const int inner = TF_NumDims(ids.get()) - 1;
  int64_t bags = 1;
  for (int d = 0; d < inner; ++d) bags *= TF_Dim(ids.get(), d);
  std::vector<uint32_t> offsets(bags + 1);
  const auto size = static_cast<uint32_t>(TF_Dim(ids.get(), inner));
  for (int64_t b = 0; b < bags; ++b) offsets[b + 1] = offsets[b] + size;
  return offsets;
}

}  // namespace

Result<Combiner> ParseCombiner(const std::string& text) {
  for (const auto& [name, combiner] :
       {std::pair("none", Combiner::kNone), std::pair("sum", Combiner::kSum),
        std::pair("mean", Combiner::kMean),
        std::pair("sqrtn", Combiner::kSqrtN)}) {
    if (text == name) return combiner;
  }
  return InvalidArgument(
      "combiner must be none, sum, mean or sqrtn, received \"", text, "\"");
}

Result<BagOffsets> BagOffsets::Of(Combiner combiner, const TfTensor& ids,
                                  TfTensor splits) {
  BagOffsets bags;
  if (combiner == Combiner::kNone || TF_TensorElementCount(splits.get()) > 0) {
    bags.splits_ = std::move(splits);
    return bags;
  }
  if (TF_NumDims(ids.get()) == 0) {
    return InvalidArgument("ids must have an axis to pool, received a scalar");
  }
  bags.own_ = InnermostRows(ids);
  return bags;
}

}  // namespace persia
