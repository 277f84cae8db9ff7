#include "cc/wire/messages.h"

#include <string>
#include <utility>

namespace persia {
namespace {

bool IsErrorCode(uint32_t number) {
  switch (static_cast<Code>(number)) {
    case Code::kCancelled:
    case Code::kInvalidArgument:
    case Code::kDeadlineExceeded:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kMoved:
    case Code::kStandby:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kUnavailable:
    case Code::kDataLoss:
    case Code::kUnauthenticated:
      return true;
    case Code::kOk:
      return false;
  }
  return false;
}

}  // namespace

OutFrame EncodeError(uint64_t request_id, const Status& status,
                     ConstBytes topology) {
  FrameWriter writer;
  writer.U32(static_cast<uint32_t>(status.code()));
  writer.U32(static_cast<uint32_t>(topology.size()));
  writer.Text(status.message());
  writer.Bytes(topology);
  return writer.Seal(MessageType::kError, request_id);
}

Status DecodeError(ConstBytes body, ConstBytes* topology) {
  ByteReader reader(body);
  const uint32_t code = reader.U32();
  const uint32_t topology_bytes = reader.U32();
  std::string message = reader.Text();
  const ConstBytes told = reader.Array<uint8_t>(topology_bytes);
  PERSIA_RETURN_IF_ERROR(reader.Finish("Error"));
  if (topology != nullptr) *topology = told;
  if (IsErrorCode(code)) {
    return Status(static_cast<Code>(code), std::move(message));
  }
  return Status(Code::kDataLoss, Concat("an Error message of unknown code ",
                                        code, ": ", message));
}

}  // namespace persia
