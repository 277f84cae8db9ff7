#include "tests/fuzz/support/reply_check.h"

#include <vector>

#include "cc/wire/messages.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/sample_body.h"

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
  FuzzCheck(DecodeLookup(asked.bytes(), &lookup, &dtype).ok(),
            "what was answered can be decoded");
  std::vector<VectorsShape> shapes;
  for (const TableLookup& table : lookup.tables) {
    shapes.push_back({table.ids.vectors(), table.ids.dim});
  }
  uint64_t generation;
  std::vector<WireVectors> rows;
  return DecodeLookupReply(body, shapes, &generation, &rows);
}

Status Decode(const SampleMessage& request, ConstBytes body) {
  CreateTableRequest table;
  UpdateCounts counts;
  std::vector<ServiceStats> processes;
  ExportRequest page;
  uint64_t removed;
  ChangesRequest changes;
  CheckpointRequest checkpoint;
  switch (request.type) {
    case MessageType::kCreateTable:
      return DecodeCreateTableReply(body, &table);
    case MessageType::kLookup:
      return DecodeRows(request, body);
    case MessageType::kUpdate:
      return DecodeUpdateReply(body, &counts);
    case MessageType::kStats:
      return DecodeStatsReply(body, &processes);
    case MessageType::kExport:
      return DecodeExportReply(body, &page);
    case MessageType::kAssign:
      return DecodeAssignReply(body);
    case MessageType::kRemove:
      return DecodeRemoveReply(body, &removed);
    case MessageType::kDropTable:
      return DecodeDropTableReply(body);
    case MessageType::kChanges:
      return DecodeChangesReply(body, &changes);
    case MessageType::kCheckpoint:
      return DecodeCheckpointReply(body, &checkpoint);
    default:
      return Status(Code::kInternal, "this is no request");
  }
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
  // Each reply's type follows its request's.
  FuzzCheck(static_cast<int>(header.type) == static_cast<int>(request.type) + 1,
            "a reply is of its request's type");
  FuzzCheck(Decode(request, body.bytes()).ok(), "a client can read a reply");
}

}  // namespace persia
