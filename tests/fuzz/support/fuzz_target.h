// What a fuzz target defines, in a file NAME_fuzz.cc beside this folder: these
// two functions. tests/fuzz/run.py finds, builds and runs it.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace persia {

using FuzzInput = std::vector<uint8_t>;

// Passes the bytes to the code under test. That code must not crash, hang or
// leak, nor take more memory than the bytes justify; FuzzCheck checks its
// results. Equal bytes should do the same in every call; see history.h for
// targets where they do not.
void FuzzOne(Span<const uint8_t> bytes);

// The inputs to begin with, which are valid, so that decoders are really
// reached.
std::vector<FuzzInput> Seeds();

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_
