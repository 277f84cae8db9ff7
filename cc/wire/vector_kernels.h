// The loops of the vector codec: they gather vectors of `dim` floats from given
// positions of an array into a dense array, possibly of another type, or
// scatter them back.

#ifndef PERSIA_CC_WIRE_VECTOR_KERNELS_H_
#define PERSIA_CC_WIRE_VECTOR_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "cc/wire/vector_places.h"

namespace persia {

void GatherFloats(const float* all, VectorPlaces places, size_t dim,
                  float* out);
void ScatterFloats(const float* from, VectorPlaces places, size_t dim,
                   float* all);

// The largest magnitude of the finite numbers of the vectors; 0 if no number is
// finite.
float LargestFiniteMagnitude(const float* all, VectorPlaces places, size_t dim);

// Multiplies each number by `factor`, then rounds it to float16.
void GatherFloat16(const float* all, VectorPlaces places, size_t dim,
                   float factor, uint16_t* out);
void ScatterFloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                    float factor, float* all);

void GatherBfloat16(const float* all, VectorPlaces places, size_t dim,
                    uint16_t* out);
void ScatterBfloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                     float* all);

// Encodes vectors as int8 with one scale per vector: NaN for a vector that is
// not finite, 0 for a vector whose largest magnitude is too small to divide by.
void GatherInt8(const float* all, VectorPlaces places, size_t dim,
                float* scales, int8_t* out);
void ScatterInt8(const float* scales, const int8_t* from, VectorPlaces places,
                 size_t dim, float* all);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_KERNELS_H_
