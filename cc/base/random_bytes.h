// Random bytes that nobody can foresee. Thread-safe.

#ifndef PERSIA_CC_BASE_RANDOM_BYTES_H_
#define PERSIA_CC_BASE_RANDOM_BYTES_H_

#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Fills `bytes` from the kernel's generator; may block while the machine is
// still starting. kInternal if the kernel gives none.
Status FillWithRandomBytes(Span<uint8_t> bytes);

// A number of 64 such bits that is not 0; fails as the above.
Result<uint64_t> RandomNonZero();

}  // namespace persia

#endif  // PERSIA_CC_BASE_RANDOM_BYTES_H_
