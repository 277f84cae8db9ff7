// A row on which a test applies an optimizer.

#ifndef PERSIA_TESTS_CC_OPTIMIZER_ROW_TRAINER_H_
#define PERSIA_TESTS_CC_OPTIMIZER_ROW_TRAINER_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cc/optimizer/optimizer.h"

namespace persia {

inline Result<std::unique_ptr<Optimizer>> OptimizerOf(const std::string& text) {
  const Result<Spec> spec = Spec::Parse(text);
  if (!spec.ok()) return spec.status();
  return MakeOptimizer(*spec);
}

class RowTrainer {
 public:
  // `text` must name an optimizer.
  RowTrainer(const std::string& text, const std::vector<float>& weights)
      : dim_(weights.size()),
        optimizer_(std::move(OptimizerOf(text).value())),
        row_(weights) {
    row_.resize(dim_ + optimizer_->state_size(dim_), -77.0f);
    optimizer_->InitState(row_.data() + dim_, dim_);
  }

  void Step(const std::vector<float>& gradient, float learning_rate) {
    float* const weights = row_.data();
    float* const state = weights + dim_;
    const float* const values = gradient.data();
    optimizer_->Update({&weights, &state, &values, 1, dim_, learning_rate});
  }

  std::vector<float> weights() const {
    return std::vector<float>(row_.begin(), row_.begin() + dim_);
  }

 private:
  const size_t dim_;
  const std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> row_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_OPTIMIZER_ROW_TRAINER_H_
