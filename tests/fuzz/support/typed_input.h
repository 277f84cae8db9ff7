// Inputs that are one message: a byte that chooses its type, and its body.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_TYPED_INPUT_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_TYPED_INPUT_H_

#include <vector>

#include "tests/cc/support/sample_messages.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {

inline FuzzInput TypedInput(const SampleMessage& sample) {
  FuzzInput input = {static_cast<uint8_t>(sample.type)};
  input.insert(input.end(), sample.body.begin(), sample.body.end());
  return input;
}

inline std::vector<FuzzInput> TypedInputs(
    const std::vector<SampleMessage>& samples) {
  std::vector<FuzzInput> inputs;
  for (const SampleMessage& sample : samples) {
    inputs.push_back(TypedInput(sample));
  }
  return inputs;
}

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_TYPED_INPUT_H_
