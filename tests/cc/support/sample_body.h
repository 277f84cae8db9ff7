// Makes a sample of a frame: its body, in one piece.

#ifndef PERSIA_TESTS_CC_SUPPORT_SAMPLE_BODY_H_
#define PERSIA_TESTS_CC_SUPPORT_SAMPLE_BODY_H_

#include <utility>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/support/sample_messages.h"

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

template <typename Request>
void AddRequest(const Request& request, std::vector<SampleMessage>* samples) {
  AddSample(EncodeRequest(1, request), kRequestType<Request>, samples);
}

template <typename Request>
void AddReply(const Request& request, std::vector<SampleMessage>* samples) {
  AddSample(EncodeReply(1, request), kReplyType<Request>, samples);
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_SAMPLE_BODY_H_
