// Optimizer: one update rule. The state is in the caller's rows.
//
// A row is `dim` weights and `state_size(dim)` float32 values of optimizer
// state, which change together. Arithmetic, arguments and defaults are Keras's.
// State exists per row only, so rules are lazy: a row without a gradient in a
// step does not move, and Adam counts the row's own updates. A dense rule (see
// missed_steps.h) makes up for the steps that a row missed.
//
// Thread-safe: immutable once created. Never blocks, never fails.

#ifndef PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
#define PERSIA_CC_OPTIMIZER_OPTIMIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// What all gradients of a step have in common.
struct OptimizerStep {
  OptimizerStep(float learning_rate, uint32_t number = 0)
      : learning_rate(learning_rate), number(number) {}

  float learning_rate;
  // The model's step, counted from 1; 0 if unknown. Steps in which a row has no
  // gradient are counted too.
  uint32_t number;
};

// Rows to update together: the i-th has weights[i] and gradients[i], `dim`
// floats each, and states[i], state_size(dim) floats. A row may occur several
// times: each of its gradients is applied.
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

  // Number of float32 values of state per row of `dim` weights.
  virtual size_t state_size(size_t dim) const = 0;

  // Initialises the state of a new row.
  virtual void InitState(float* state, size_t dim) const = 0;

  // Applies its gradient to each row.
  virtual void Update(const RowUpdates& rows) const = 0;
};

// The rule that `spec` names (each has a header of its name), with the options
// of row_options.h. InvalidArgument for an unknown name or parameter, or a
// value out of range. The learning rate is not a parameter: each update has its
// own.
Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
