// What a fuzz target defines: one file, NAME_fuzz.cc beside this folder, of
// these two functions. tests/fuzz/run.py finds it, builds and runs it.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace persia {

using FuzzInput = std::vector<uint8_t>;

// Hands any bytes to what is fuzzed. It must not crash, hang, leak or take
// memory that the bytes do not back; what it promises is checked by FuzzCheck.
// Equal bytes should do the same in every call: see history.h where they do
// not.
void FuzzOne(Span<const uint8_t> bytes);

// Inputs to begin from: what is valid, so that decoders are really reached.
std::vector<FuzzInput> Seeds();

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_FUZZ_TARGET_H_
