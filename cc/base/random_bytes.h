// Unpredictable random bytes. Thread-safe.

#ifndef PERSIA_CC_BASE_RANDOM_BYTES_H_
#define PERSIA_CC_BASE_RANDOM_BYTES_H_

#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Fills `bytes` from the kernel's generator; may block while the machine is
// still booting. kInternal if the kernel fails to provide them.
Status FillWithRandomBytes(Span<uint8_t> bytes);

// A random 64-bit number other than 0; fails as FillWithRandomBytes does.
Result<uint64_t> RandomNonZero();

}  // namespace persia

#endif  // PERSIA_CC_BASE_RANDOM_BYTES_H_
