// Optimizer: one update rule, stateless over the caller's rows.
//
// A row is `dim` float32 weights followed by `state_size(dim)` float32 of
// optimizer state, contiguous, so that one row is one place in memory and both
// change together. Arithmetic, arguments and defaults are Keras's; the state
// belongs to the row alone, so rules are lazy: a row that a step does not touch
// does not move, and Adam counts the row's own updates.
//
// Thread-safe: immutable after Make. Never blocks, never fails.

#ifndef PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
#define PERSIA_CC_OPTIMIZER_OPTIMIZER_H_

#include <cstddef>
#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Number of float32 of state behind a row of `dim` weights.
  virtual size_t state_size(size_t dim) const = 0;

  // Sets the state of a new row.
  virtual void InitState(float* state, size_t dim) const = 0;

  // Applies to each of `count` rows its gradient. rows[i] points to the row's
  // weights (its state follows them); gradients is count x dim, row-major.
  virtual void Update(float* const* rows, const float* gradients, size_t count,
                      size_t dim, float learning_rate) const = 0;
};

// The rule that `spec` names: sgd, adagrad or adam. InvalidArgument for an
// unknown name or parameter, or a value out of its range. The learning rate is
// no parameter: it travels with each update.
Result<std::unique_ptr<Optimizer>> MakeOptimizer(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_OPTIMIZER_OPTIMIZER_H_
