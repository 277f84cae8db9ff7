#include "cc/ops/bags.h"

#include <utility>

namespace persia {

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

}  // namespace persia
