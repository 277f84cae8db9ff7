// VectorPlaces: the positions of some vectors in an array, in any order.

#ifndef PERSIA_CC_WIRE_VECTOR_PLACES_H_
#define PERSIA_CC_WIRE_VECTOR_PLACES_H_

#include <cstddef>
#include <cstdint>

namespace persia {

struct VectorPlaces {
  size_t count = 0;
  // If `indices` is null: the first of `count` consecutive vectors.
  size_t first = 0;
  const uint32_t* indices = nullptr;

  bool contiguous() const { return indices == nullptr; }
  size_t operator[](size_t i) const {
    return contiguous() ? first + i : indices[i];
  }
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_PLACES_H_
