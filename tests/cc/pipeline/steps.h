// Lookups, gradients and steps for tests of the pipeline.

#ifndef PERSIA_TESTS_CC_PIPELINE_STEPS_H_
#define PERSIA_TESTS_CC_PIPELINE_STEPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/pipeline/step_ledger.h"

namespace persia {

inline std::shared_ptr<LookupPlan> MakePlan(const std::string& layer,
                                            TableKey table, uint32_t dim,
                                            const std::vector<int64_t>& ids) {
  auto plan = std::make_shared<LookupPlan>();
  plan->layer = layer;
  plan->table = table;
  plan->dim = dim;
  plan->unique = Dedupe(ids);
  return plan;
}

inline SharedGradients MakeGradients(std::vector<float> values) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  SharedGradients gradients;
  gradients.vectors = *owner;
  gradients.owner = std::move(owner);
  return gradients;
}

// A step of `table`, of dim 1, without parts.
inline TableStep MakeStep(TableKey table) {
  TableStep step;
  step.table = table;
  step.dim = 1;
  step.learning_rate = 0.5f;
  return step;
}

inline void AddPart(TableStep* step, const std::vector<int64_t>& ids,
                    std::vector<float> gradients) {
  step->parts.push_back({MakePlan("layer", step->table, step->dim, ids),
                         MakeGradients(std::move(gradients))});
}

// A step of `table`, of dim 1, whose only gradient is 1, for `id`.
inline TableStep MakeOneIdStep(TableKey table, int64_t id) {
  TableStep step = MakeStep(table);
  AddPart(&step, {id}, {1});
  return step;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_STEPS_H_
