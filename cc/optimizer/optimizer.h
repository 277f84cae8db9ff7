// Optimizer: one update rule, stateless over the caller's rows.
//
// A row is `dim` weights and `state_size(dim)` float32 of optimizer state,
// which live and change together. Arithmetic, arguments and defaults are
// Keras's; the state belongs to the row alone, so rules are lazy: a row that a
// step does not touch does not move, and Adam counts the row's own updates. A
// rule that is dense (see missed_steps.h) makes up for what a row missed.
//
// Thread-safe: immutable after Make. Never blocks, never fails.

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
  // Which step of the model it is, counted from 1; 0 if nobody says. Steps that
  // a row has no gradient in count too.
  uint32_t number;
};

// Rows to update at once: the i-th has weights[i] and gradients[i], `dim`
// floats each, and states[i], state_size(dim) floats. A row may come again:
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

  // Number of float32 of state behind a row of `dim` weights.
  virtual size_t state_size(size_t dim) const = 0;

  // Sets the state of a new row.
  virtual void InitState(float* state, size_t dim) const = 0;

  // Applies to each row its gradient.
  virtual void Update(const RowUpdates& rows) const = 0;
};

// The rule that `spec` names (each has a header of its name), with the options
// of row_options.h. InvalidArgument for an unknown name or parameter, or a
// value out of its range. The learning rate is no parameter: it travels with
// each update.
Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
