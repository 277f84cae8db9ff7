// Random numbers that an attacker cannot predict. Thread-safe.

#ifndef PERSIA_CC_BASE_RANDOM_BYTES_H_
#define PERSIA_CC_BASE_RANDOM_BYTES_H_

#include <cstdint>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// Fills `bytes` from the kernel's random number generator; may block while the
// machine is still booting. Returns kInternal if the kernel provides no random
// bytes.
Status FillWithRandomBytes(Span<uint8_t> bytes);

// Returns a random 64-bit number other than 0, or the error of
// FillWithRandomBytes.
Result<uint64_t> RandomNonZero();

}  // namespace persia

#endif  // PERSIA_CC_BASE_RANDOM_BYTES_H_
