#include "cc/wire/frame.h"

#include "cc/base/crc32c.h"
#include "cc/base/header_fields.h"

namespace persia {
namespace {

// Offsets of the header's fields.
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 4;
constexpr size_t kTypeAt = 6;
constexpr size_t kRequestIdAt = 8;
constexpr size_t kBodyBytesAt = 16;
constexpr size_t kBodyCrcAt = 24;
constexpr size_t kHeaderCrcAt = 28;

bool IsMessageType(MessageType type) {
  return type == MessageType::kError || IsRequest(type) || IsReply(type) ||
         (type >= MessageType::kHello && type <= MessageType::kWelcome);
}

}  // namespace

uint64_t TotalBytes(const OutFrame& frame) {
  uint64_t bytes = frame.head.size();
  for (const ConstBytes part : frame.payload) bytes += part.size();
  return bytes;
}

uint64_t BodyBytes(const OutFrame& frame) {
  return TotalBytes(frame) - kFrameHeaderBytes;
}

void SealFrame(MessageType type, uint64_t request_id, OutFrame* frame) {
  uint32_t body_crc = Crc32c(frame->head.data() + kFrameHeaderBytes,
                             frame->head.size() - kFrameHeaderBytes);
  for (const ConstBytes part : frame->payload) {
    body_crc = ExtendCrc32c(body_crc, part.data(), part.size());
  }
  uint8_t* header = frame->head.data();
  PutField(header, kMagicAt, kFrameMagic);
  PutField(header, kVersionAt, kProtocolVersion);
  PutField(header, kTypeAt, static_cast<uint16_t>(type));
  PutField(header, kRequestIdAt, request_id);
  PutField(header, kBodyBytesAt, BodyBytes(*frame));
  PutField(header, kBodyCrcAt, body_crc);
  PutField(header, kHeaderCrcAt, Crc32c(header, kHeaderCrcAt));
}

Status ParseFrameHeader(Span<const uint8_t, kFrameHeaderBytes> bytes,
                        uint64_t max_body_bytes, FrameHeader* header) {
  if (GetField<uint32_t>(bytes.data(), kMagicAt) != kFrameMagic) {
    return Status(Code::kDataLoss,
                  "the received bytes are not of persia_tf's protocol, whose "
                  "frames start with \"PRS1\": is another program at this "
                  "address?");
  }
  if (GetField<uint32_t>(bytes.data(), kHeaderCrcAt) !=
      Crc32c(bytes.data(), kHeaderCrcAt)) {
    return Status(Code::kDataLoss, "a frame's header was corrupted in transit");
  }
  header->version = GetField<uint16_t>(bytes.data(), kVersionAt);
  header->request_id = GetField<uint64_t>(bytes.data(), kRequestIdAt);
  if (header->version != kProtocolVersion) {
    return Status(Code::kFailedPrecondition,
                  Concat("received a frame of protocol version ",
                         header->version, " instead of ", kProtocolVersion,
                         ": use the same persia_tf version on both sides"));
  }
  const auto type = GetField<uint16_t>(bytes.data(), kTypeAt);
  header->type = static_cast<MessageType>(type);
  if (!IsMessageType(header->type)) {
    return Status(Code::kDataLoss,
                  Concat("a frame of unknown message type ", type));
  }
  header->body_bytes = GetField<uint64_t>(bytes.data(), kBodyBytesAt);
  header->body_crc = GetField<uint32_t>(bytes.data(), kBodyCrcAt);
  if (header->body_bytes > max_body_bytes) {
    return Status(Code::kResourceExhausted,
                  Concat("a frame's body of ", header->body_bytes,
                         " bytes is over the limit of ", max_body_bytes));
  }
  return Status();
}

Status CheckBody(const FrameHeader& header, Span<const ConstBytes> parts) {
  uint64_t bytes = 0;
  uint32_t crc = 0;
  for (const ConstBytes part : parts) {
    bytes += part.size();
    crc = ExtendCrc32c(crc, part.data(), part.size());
  }
  if (bytes == header.body_bytes && crc == header.body_crc) return Status();
  return Status(Code::kDataLoss, "a frame's body was corrupted in transit");
}

}  // namespace persia
