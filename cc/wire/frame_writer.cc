#include "cc/wire/frame_writer.h"

#include <utility>

namespace persia {

void FrameWriter::Refer(const uint8_t* bytes, size_t size) {
  if (size == 0) return;
  payload_bytes_ += size;
  // Adjacent arrays become one part of the payload, so that the kernel has
  // fewer parts to send.
  if (!payload_.empty() && payload_.back().end() == bytes) {
    payload_.back() =
        ConstBytes(payload_.back().data(), payload_.back().size() + size);
  } else {
    payload_.emplace_back(bytes, size);
  }
}

void FrameWriter::PadArrays() {
  const ConstBytes padding =
      ByteWriter::PaddingAt(head_.size() + payload_bytes_);
  Refer(padding.data(), padding.size());
}

OutFrame FrameWriter::Seal(MessageType type, uint64_t request_id) {
  OutFrame frame{head_.Take(), std::exchange(payload_, {})};
  payload_bytes_ = 0;
  SealFrame(type, request_id, &frame);
  return frame;
}

}  // namespace persia
