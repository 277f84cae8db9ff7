// How a frame becomes a sample: its body, in one piece.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_SAMPLE_BODY_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_SAMPLE_BODY_H_

#include <utility>
#include <vector>

#include "tests/fuzz/support/sample_messages.h"

namespace persia {

inline std::vector<uint8_t> BodyOf(const OutFrame& frame) {
  std::vector<uint8_t> body(frame.head.begin() + kFrameHeaderBytes,
                            frame.head.end());
  for (const ConstBytes part : frame.payload) {
    body.insert(body.end(), part.begin(), part.end());
  }
  return body;
}

inline void AddSample(const OutFrame& frame, MessageType type,
                      std::vector<SampleMessage>* samples) {
  samples->push_back(SampleMessage{type, BodyOf(frame)});
}

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_SAMPLE_BODY_H_
