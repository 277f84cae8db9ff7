// RowFormat: how a row's weights are held, and where in a row what is.
//
//   row = weights, padded to 4 bytes | use, if the table evicts | state
//
// float32, bfloat16 and float16 weights are those numbers. int8 weights are a
// float32 scale s, then a number q each, -127 to 127: weight = q * s. s is a
// power of two: the least at which the row's largest magnitude is 127 * s at
// most, or its double. So it rarely changes as a row is trained, and a weight
// that an update does not change stays what it is to the bit, unless the scale
// rises. State is float32.
//
// Finite weights stay finite: what is too large becomes the largest of its
// sign. In int8 rows, so do infinities, and NaN becomes 0.
//
// Thread-safe: immutable. Never blocks, never fails.

#ifndef PERSIA_CC_STORE_ROW_FORMAT_H_
#define PERSIA_CC_STORE_ROW_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

class RowFormat {
 public:
  virtual ~RowFormat() = default;

  // Bytes of `dim` weights, before padding.
  virtual size_t weight_bytes(size_t dim) const = 0;

  // Whether the weights in a row are float32, to be changed in place.
  virtual bool in_place() const = 0;

  // Writes the weights of rows[i] to out + places[i] * dim, for each i below
  // `count`; skips null rows.
  virtual void Read(const std::byte* const* rows, const uint32_t* places,
                    size_t count, size_t dim, float* out) const = 0;

  // Sets a row to the nearest weights that it can hold.
  virtual void Write(const float* weights, size_t dim,
                     std::byte* row) const = 0;

  // Sets a row to one of the two neighbours that it can hold of each weight,
  // to each with the probability that makes the weight the mean: so updates
  // smaller than a step between neighbours are not lost. A weight that the row
  // can hold stays. `random` seeds the choice. Precondition: the row was
  // written to before.
  virtual void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                             std::byte* row) const = 0;
};

// float32, bfloat16, float16 or int8, which take no parameters;
// InvalidArgument for others.
Result<std::unique_ptr<RowFormat>> MakeRowFormat(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_FORMAT_H_
