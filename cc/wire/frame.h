// Frames: how messages are laid out on a byte stream. All numbers are
// little-endian.
//
//   frame  = header body
//   header (32 bytes) =
//     offset  size
//     0       4    magic "PRS1" (0x31535250)
//     4       2    protocol version
//     6       2    message type
//     8       8    request id: a reply carries its request's id. 0: the frame
//                  belongs to the connection and to no request (the
//                  handshake, or an Error that ends the connection)
//     16      8    body length in bytes
//     24      4    CRC-32C of the body
//     28      4    CRC-32C of header bytes 0 to 27
//
// The header's layout is the same in every protocol version, so that a peer of
// another version can be told that its version is wrong. After a frame with a
// wrong magic, checksum, type or length the stream cannot be used: the
// connection is dropped.

#ifndef PERSIA_CC_WIRE_FRAME_H_
#define PERSIA_CC_WIRE_FRAME_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/wire/message_type.h"

namespace persia {

inline constexpr uint32_t kFrameMagic = 0x31535250;
inline constexpr uint16_t kProtocolVersion = 14;
inline constexpr size_t kFrameHeaderBytes = 32;
inline constexpr uint64_t kMaxBodyBytes = 1ull << 30;
// The request id of frames that belong to the connection.
inline constexpr uint64_t kConnectionId = 0;

struct FrameHeader {
  uint16_t version = kProtocolVersion;
  MessageType type = MessageType::kError;
  uint64_t request_id = 0;
  uint64_t body_bytes = 0;
  uint32_t body_crc = 0;
};

// A frame that is ready to be written: `head` (the frame header and the
// message's fixed part), then the parts of `payload`, in order. The frame does
// not own the payload's memory.
struct OutFrame {
  std::vector<uint8_t> head;
  std::vector<ConstBytes> payload;
};

uint64_t TotalBytes(const OutFrame& frame);
uint64_t BodyBytes(const OutFrame& frame);

// Computes the header from the rest of the frame, and writes it to the first
// kFrameHeaderBytes of frame->head, which the message's encoder has reserved.
void SealFrame(MessageType type, uint64_t request_id, OutFrame* frame);

// Parses a frame's header. Returns:
// - kDataLoss if this is not a header of this protocol, or is corrupt
// - kFailedPrecondition if the header has another protocol version;
//   header->version and header->request_id are set nevertheless, so that the
//   caller can reply
// - kResourceExhausted if the body is longer than `max_body_bytes`
Status ParseFrameHeader(Span<const uint8_t, kFrameHeaderBytes> bytes,
                        uint64_t max_body_bytes, FrameHeader* header);

// kDataLoss if the frame's body, the concatenation of `parts`, does not match
// the length and the checksum in its header.
Status CheckBody(const FrameHeader& header, Span<const ConstBytes> parts);
inline Status CheckBody(const FrameHeader& header, ConstBytes body) {
  return CheckBody(header, Span<const ConstBytes>(&body, 1));
}

}  // namespace persia

#endif  // PERSIA_CC_WIRE_FRAME_H_
