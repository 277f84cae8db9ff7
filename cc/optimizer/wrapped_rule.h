// WrappedRule: the base class of the options of row_options.h, which act before
// or after the rule that they wrap.

#ifndef PERSIA_CC_OPTIMIZER_WRAPPED_RULE_H_
#define PERSIA_CC_OPTIMIZER_WRAPPED_RULE_H_

#include <memory>
#include <utility>

#include "cc/optimizer/optimizer.h"

namespace persia {

class WrappedRule : public Optimizer {
 public:
  explicit WrappedRule(std::unique_ptr<Optimizer> rule)
      : rule_(std::move(rule)) {}

  size_t state_size(size_t dim) const override {
    return rule_->state_size(dim);
  }

  void InitState(float* state, size_t dim) const override {
    rule_->InitState(state, dim);
  }

 protected:
  const Optimizer& rule() const { return *rule_; }

 private:
  const std::unique_ptr<Optimizer> rule_;
};

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_WRAPPED_RULE_H_
