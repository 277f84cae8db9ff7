// The loops of the vector codec: vectors of `dim` numbers between places of an
// array of floats and a dense array of another type.

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

// 0 if there is none.
float LargestFiniteMagnitude(const float* all, VectorPlaces places, size_t dim);

// Each number times `factor`.
void GatherFloat16(const float* all, VectorPlaces places, size_t dim,
                   float factor, uint16_t* out);
void ScatterFloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                    float factor, float* all);

void GatherBfloat16(const float* all, VectorPlaces places, size_t dim,
                    uint16_t* out);
void ScatterBfloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                     float* all);

// One scale a vector: NaN for one that is not finite, 0 for one whose largest
// number is too small to be divided by.
void GatherInt8(const float* all, VectorPlaces places, size_t dim,
                float* scales, int8_t* out);
void ScatterInt8(const float* scales, const int8_t* from, VectorPlaces places,
                 size_t dim, float* all);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_KERNELS_H_
