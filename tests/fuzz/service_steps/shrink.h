// Shrink: makes a program that fails as short as it finds, step by step.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_STEPS_SHRINK_H_
#define PERSIA_TESTS_FUZZ_SERVICE_STEPS_SHRINK_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace persia {

using Program = std::vector<uint8_t>;

// `fails(program)` must be true, and is true for the result.
Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_STEPS_SHRINK_H_
