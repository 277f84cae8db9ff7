// Optimizer: the update rule for a table's rows. The optimizer's state is
// stored in the rows, which belong to the caller.
//
// A row is `dim` weights and `state_size(dim)` float32 values of optimizer
// state, which change together. Arithmetic, arguments and defaults are those of
// Keras's optimizers. State exists per row only, so rules are lazy: a row
// without a gradient in a step does not move, and Adam counts the row's own
// updates. A dense rule (see missed_steps.h) makes up for the steps that a row
// missed.
//
// An Optimizer is immutable once created, and therefore thread-safe. It never
// blocks and never fails.

#ifndef PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
#define PERSIA_CC_OPTIMIZER_OPTIMIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// The learning rate and step number that all gradients of a step share.
struct OptimizerStep {
  OptimizerStep(float learning_rate, uint32_t number = 0)
      : learning_rate(learning_rate), number(number) {}

  float learning_rate;
  // The number of the model's step, counted from 1, or 0 if unknown. All steps
  // of the model count, even those in which a row has no gradient.
  uint32_t number;
};

// Rows to update together. Row i has weights[i] and gradients[i], `dim` floats
// each, and states[i], state_size(dim) floats. A row may occur several times;
// each of its gradients is applied.
struct RowUpdates {
  float* const* weights;
  float* const* states;
  const float* const* gradients;
  size_t count;
  size_t dim;
  OptimizerStep step;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The number of float32 values of state per row of `dim` weights.
  virtual size_t state_size(size_t dim) const = 0;

  // Initialises the state of a new row.
  virtual void InitState(float* state, size_t dim) const = 0;

  // Applies each row's gradient to the row.
  virtual void Update(const RowUpdates& rows) const = 0;
};

// Creates the rule that `spec` names, with the options of row_options.h. The
// rule's parameters are in the header that has the rule's name. Returns
// InvalidArgument for an unknown name or parameter, or a value out of range.
// The learning rate is not a parameter, since each update has its own.
Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
