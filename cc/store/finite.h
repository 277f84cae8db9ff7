#ifndef PERSIA_CC_STORE_FINITE_H_
#define PERSIA_CC_STORE_FINITE_H_

#include <cstddef>
#include <cstdint>

namespace persia {

// Sets finite[i] to 1 if all `dim` values of the vector at values + places[i] *
// dim are finite, that is, neither NaN nor infinite; else to 0.
void FindFinite(const float* values, const uint32_t* places, size_t count,
                size_t dim, uint8_t* finite);

}  // namespace persia

#endif  // PERSIA_CC_STORE_FINITE_H_
