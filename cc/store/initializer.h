// Initializer: the initial value of a new row.
//
// A row's initial value depends on (seed, table, id) alone: not on the number
// of shards, the order of ids, or the process. Thread-safe: immutable once
// created.

#ifndef PERSIA_CC_STORE_INITIALIZER_H_
#define PERSIA_CC_STORE_INITIALIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

class Initializer {
 public:
  virtual ~Initializer() = default;

  // Writes `dim` weights for `id`. `table_seed` comes from TableSeed.
  virtual void Fill(uint64_t table_seed, int64_t id, float* weights,
                    size_t dim) const = 0;
};

// Returns the seed of a table's rows, from the table's name and its `seed`
// setting.
uint64_t TableSeed(std::string_view table_name, uint64_t seed);

// Creates the initializer that `spec` names:
//
//   zeros; ones; constant(value=); uniform(minval=,maxval=);
//   normal(mean=,stddev=)
//   truncated_normal(mean=,stddev=): values beyond two standard deviations are
//     redrawn
//   glorot_uniform: uniform within sqrt(6 / (fan_in + fan_out)), with fan_in 1
//     and fan_out dim (Glorot and Bengio, 2010). The fan-in of a row is 1,
//     because one id activates one row.
//
// Returns InvalidArgument for an unknown name or parameter, or a value out of
// range.
Result<std::unique_ptr<Initializer>> MakeInitializer(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_INITIALIZER_H_
