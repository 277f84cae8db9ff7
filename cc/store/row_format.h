// RowFormat: how the weights of a row are stored. The layout of a row:
//
//   row = weights, padded to 4 bytes | RowUse, if the table evicts | state
//
// float32, bfloat16 and float16 weights are stored as numbers of that type.
// int8 weights are stored as a float32 scale, followed by an integer for each
// weight: see int8.h. The scale is a power of two, so it rarely changes while a
// row is trained, and a weight that an update does not change keeps its exact
// value unless the scale rises. State is float32.
//
// Finite weights stay finite: a number that is too large becomes the largest
// one of its sign. In int8 rows an infinity becomes that number too, and NaN
// becomes 0.
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

  // Bytes of `dim` weights, without padding.
  virtual size_t weight_bytes(size_t dim) const = 0;

  // Whether the weights in a row are float32 and can be updated in place.
  virtual bool in_place() const = 0;

  // Copies the weights of rows[i] to out + places[i] * dim, for each i below
  // `count`; skips null rows.
  virtual void Read(const std::byte* const* rows, const uint32_t* places,
                    size_t count, size_t dim, float* out) const = 0;

  // Sets a row to the representable weights nearest to `weights`.
  virtual void Write(const float* weights, size_t dim,
                     std::byte* row) const = 0;

  // Rounds stochastically: sets each weight of a row to one of its two
  // representable neighbours, with probabilities that make `weights` the
  // expected value. So updates smaller than the distance between neighbours are
  // not lost. A representable weight is stored exactly. `random` seeds the
  // choice. Precondition: the row was written before.
  virtual void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                             std::byte* row) const = 0;
};

// `spec` must be float32, bfloat16, float16 or int8, without parameters;
// InvalidArgument otherwise.
Result<std::unique_ptr<RowFormat>> MakeRowFormat(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_FORMAT_H_
