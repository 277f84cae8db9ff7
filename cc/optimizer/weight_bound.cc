#include "cc/optimizer/weight_bound.h"

#include <algorithm>
#include <utility>

#include "cc/base/vectorize.h"
#include "cc/optimizer/wrapped_rule.h"

namespace persia {
namespace {

PERSIA_VECTORIZE void BindRows(const RowUpdates& rows, float bound) {
  for (size_t i = 0; i < rows.count; ++i) {
    float* const weights = rows.weights[i];
    for (size_t d = 0; d < rows.dim; ++d) {
      weights[d] = std::min(std::max(weights[d], -bound), bound);
    }
  }
}

class BoundRule : public WrappedRule {
 public:
  BoundRule(std::unique_ptr<Optimizer> rule, float bound)
      : WrappedRule(std::move(rule)), bound_(bound) {}

  void Update(const RowUpdates& rows) const override {
    rule().Update(rows);
    BindRows(rows, bound_);
  }

 private:
  const float bound_;
};

}  // namespace

std::unique_ptr<Optimizer> WithWeightBound(std::unique_ptr<Optimizer> rule,
                                           float bound) {
  return std::make_unique<BoundRule>(std::move(rule), bound);
}

}  // namespace persia
