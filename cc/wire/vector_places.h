// VectorPlaces: the positions of some of an array's vectors, in any order.

#ifndef PERSIA_CC_WIRE_VECTOR_PLACES_H_
#define PERSIA_CC_WIRE_VECTOR_PLACES_H_

#include <cstddef>
#include <cstdint>

namespace persia {

struct VectorPlaces {
  size_t count = 0;
  size_t first = 0;  // Without indices: `count` consecutive vectors from here.
  const uint32_t* indices = nullptr;

  bool contiguous() const { return indices == nullptr; }
  size_t operator[](size_t i) const {
    return contiguous() ? first + i : indices[i];
  }
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_PLACES_H_
