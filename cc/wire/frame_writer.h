// FrameWriter: builds a frame. It copies numbers and texts into the frame's
// head, and refers to arrays in place. Zero padding keeps the body aligned.
//
// Not thread-safe.

#ifndef PERSIA_CC_WIRE_FRAME_WRITER_H_
#define PERSIA_CC_WIRE_FRAME_WRITER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cc/base/byte_writer.h"
#include "cc/base/span.h"
#include "cc/wire/frame.h"

namespace persia {

class FrameWriter {
 public:
  FrameWriter() : head_(kFrameHeaderBytes) {}

  void U32(uint32_t value) { head_.U32(value); }
  void U64(uint64_t value) { head_.U64(value); }
  void F32(float value) { head_.F32(value); }
  void Text(std::string_view text) { head_.Text(text); }
  void Bytes(ConstBytes bytes) { head_.Copy(bytes.data(), bytes.size()); }
  ByteWriter* head() { return &head_; }

  // Appends an array to the payload by reference: it must outlive the frame.
  // After the first array, nothing may be written to the head.
  template <typename T>
  void Array(Span<T> values) {
    Refer(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  }

  // Appends zeros, to a multiple of 8 bytes from the body's start.
  void PadArrays();

  // Returns the finished frame and leaves the writer empty.
  OutFrame Seal(MessageType type, uint64_t request_id);

 private:
  void Refer(const uint8_t* bytes, size_t size);

  ByteWriter head_;
  std::vector<ConstBytes> payload_;
  size_t payload_bytes_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_FRAME_WRITER_H_
