// Inputs that are several messages in a row, each
//   u8 type, u16 length (little-endian), body
// so that a mutated body is a whole frame's again: the header and its checksums
// are built around it.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_FRAMES_INPUT_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_FRAMES_INPUT_H_

#include <algorithm>
#include <vector>

#include "tests/cc/support/sample_messages.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {

inline constexpr size_t kFramePrefixBytes = 3;

inline size_t FrameBytes(const SampleMessage& message) {
  return kFramePrefixBytes + message.body.size();
}

// Precondition: `to` has room for FrameBytes.
inline void WriteFrame(const SampleMessage& message, uint8_t* to) {
  const size_t size = message.body.size();
  *to++ = static_cast<uint8_t>(message.type);
  *to++ = static_cast<uint8_t>(size);
  *to++ = static_cast<uint8_t>(size >> 8);
  std::copy(message.body.begin(), message.body.end(), to);
}

inline void AppendFrame(const SampleMessage& message, FuzzInput* input) {
  const size_t at = input->size();
  input->resize(at + FrameBytes(message));
  WriteFrame(message, input->data() + at);
}

// Takes the next message from `rest`, which is not empty. If its length is
// beyond the end, it has all that is left.
inline SampleMessage TakeFrame(Span<const uint8_t>* rest) {
  SampleMessage message;
  message.type = static_cast<MessageType>((*rest)[0]);
  const size_t prefix = std::min(kFramePrefixBytes, rest->size());
  size_t size = 0;
  for (size_t i = 1; i < prefix; ++i) size |= (*rest)[i] << 8 * (i - 1);
  *rest = rest->subspan(prefix);
  size = std::min(size, rest->size());
  message.body.assign(rest->begin(), rest->begin() + size);
  *rest = rest->subspan(size);
  return message;
}

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_FRAMES_INPUT_H_
