#include "cc/optimizer/weight_decay.h"

#include <utility>

#include "cc/base/vectorize.h"
#include "cc/optimizer/wrapped_rule.h"

namespace persia {
namespace {

PERSIA_VECTORIZE void DecayRows(const RowUpdates& rows, float decay) {
  for (size_t i = 0; i < rows.count; ++i) {
    float* const weights = rows.weights[i];
    for (size_t d = 0; d < rows.dim; ++d) {
      weights[d] -= weights[d] * decay * rows.step.learning_rate;
    }
  }
}

class DecayingRule : public WrappedRule {
 public:
  DecayingRule(std::unique_ptr<Optimizer> rule, float decay)
      : WrappedRule(std::move(rule)), decay_(decay) {}

  void Update(const RowUpdates& rows) const override {
    DecayRows(rows, decay_);
    rule().Update(rows);
  }

 private:
  const float decay_;
};

}  // namespace

std::unique_ptr<Optimizer> WithWeightDecay(std::unique_ptr<Optimizer> rule,
                                           float decay) {
  return std::make_unique<DecayingRule>(std::move(rule), decay);
}

}  // namespace persia
