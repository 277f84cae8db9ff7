#include "tests/fuzz/support/reply_check.h"

#include <type_traits>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/support/sample_body.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"

namespace persia {
namespace {

FrameHeader CheckFrame(const OutFrame& reply, ConstBytes body) {
  FrameHeader header;
  const auto bytes = ConstBytes(reply.head).first<kFrameHeaderBytes>();
  FuzzCheck(ParseFrameHeader(bytes, kMaxBodyBytes, &header).ok(),
            "a reply has a header");
  FuzzCheck(CheckBody(header, body).ok(), "a reply's checksum is right");
  return header;
}

Status DecodeRows(const SampleMessage& request, ConstBytes body) {
  const ExactBytes asked(request.body);
  LookupRequest lookup;
  WireDtype dtype;
  ByteBuffer unpacked;
  FuzzCheck(DecodeLookup(asked.bytes(), &lookup, &dtype, &unpacked).ok(),
            "what was answered can be decoded");
  std::vector<VectorsShape> shapes;
  for (const TableLookup& table : lookup.tables) {
    shapes.push_back({table.ids.vectors(), table.ids.dim});
  }
  uint64_t generation;
  std::vector<WireVectors> rows;
  return DecodeLookupReply(body, shapes, &generation, &rows);
}

// Decodes the request's reply.
Status Decode(const SampleMessage& request, ConstBytes body) {
  Status status(Code::kInternal, "this is no request");
  ForRequestOf(request.type, [&](auto* typed) {
    using Request = std::remove_pointer_t<decltype(typed)>;
    if constexpr (std::is_same_v<Request, LookupRequest>) {
      status = DecodeRows(request, body);
    } else {
      Request answered;
      status = DecodeReply(body, &answered);
    }
  });
  return status;
}

}  // namespace

void CheckReply(const SampleMessage& request, const OutFrame& reply) {
  const ExactBytes body(BodyOf(reply));
  const FrameHeader header = CheckFrame(reply, body.bytes());
  if (header.type == MessageType::kError) {
    const Status error = DecodeError(body.bytes());
    FuzzCheck(!error.message().empty(), "an Error says why");
    return;
  }
  // The type of a reply is the number after its request's type.
  FuzzCheck(static_cast<int>(header.type) == static_cast<int>(request.type) + 1,
            "a reply is of its request's type");
  FuzzCheck(Decode(request, body.bytes()).ok(), "a client can read a reply");
}

}  // namespace persia
