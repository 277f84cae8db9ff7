// Any bytes as the body of each reply, as a client reads it.

#include <algorithm>

#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/sample_body.h"
#include "tests/fuzz/support/typed_input.h"

namespace persia {
namespace {

// What a client asked for: the shape of the samples' rows.
constexpr uint64_t kCount = 5;
constexpr uint32_t kDim = 2;

void ExpectSame(ConstBytes body, const OutFrame& again) {
  const std::vector<uint8_t> bytes = BodyOf(again);
  FuzzCheck(std::equal(body.begin(), body.end(), bytes.begin(), bytes.end()),
            "a reply that is decoded and encoded is the same");
}

void Error(ConstBytes body) {
  FuzzCheck(!DecodeError(body).ok(), "an Error is never good news");
}

void CreateTableReply(ConstBytes body) {
  CreateTableRequest request;
  if (DecodeCreateTableReply(body, &request).ok()) {
    ExpectSame(body, EncodeCreateTableReply(1, request));
  }
}

void LookupReply(ConstBytes body) {
  LookupReplyHead head;
  (void)DecodeLookupReplyHead(
      body.first(std::min(kLookupReplyHeadBytes, body.size())), &head);
  uint64_t generation;
  std::vector<WireVectors> rows;
  if (!DecodeLookupReply(body, {{kCount, kDim}}, &generation, &rows).ok()) {
    return;
  }
  ExpectSame(body,
             EncodeLookupReply(1, generation, rows[0].dtype, {rows[0].bytes}));
  std::vector<float> floats(kCount * kDim);
  DecodeVectors(rows[0], VectorPlaces{kCount, 0, nullptr}, kDim, floats.data());
}

void UpdateReply(ConstBytes body) {
  UpdateCounts counts;
  if (DecodeUpdateReply(body, &counts).ok()) {
    ExpectSame(body, EncodeUpdateReply(1, counts));
  }
}

void StatsReply(ConstBytes body) {
  std::vector<ServiceStats> processes;
  if (DecodeStatsReply(body, &processes).ok()) {
    ExpectSame(body, EncodeStatsReply(1, processes));
  }
}

void ExportReply(ConstBytes body) {
  ExportRequest request;
  if (DecodeExportReply(body, &request).ok()) {
    ExpectSame(body, EncodeExportReply(1, request));
  }
}

// Texts of settings may come in a longer form than they are sent in.
void ChangesReply(ConstBytes body) {
  ChangesRequest request;
  if (!DecodeChangesReply(body, &request).ok()) return;
  const ExactBytes again(BodyOf(EncodeChangesReply(1, request)));
  ChangesRequest same;
  FuzzCheck(DecodeChangesReply(again.bytes(), &same).ok(),
            "what was decoded can be sent on");
  ExpectSame(again.bytes(), EncodeChangesReply(1, same));
}

void RemoveReply(ConstBytes body) {
  uint64_t removed;
  if (DecodeRemoveReply(body, &removed).ok()) {
    ExpectSame(body, EncodeRemoveReply(1, removed));
  }
}

// An outcome that is no error has no message, whatever came. The action, which
// the client has chosen, is what `contents` are sent by.
void CheckpointReply(ConstBytes body) {
  CheckpointRequest request;
  request.action = CheckpointAction::kReadFile;
  if (!DecodeCheckpointReply(body, &request).ok()) return;
  const ExactBytes again(BodyOf(EncodeCheckpointReply(1, request)));
  CheckpointRequest same;
  same.action = CheckpointAction::kReadFile;
  FuzzCheck(DecodeCheckpointReply(again.bytes(), &same).ok(),
            "what was decoded can be sent on");
  ExpectSame(again.bytes(), EncodeCheckpointReply(1, same));
}

void ServerChallenge(ConstBytes body) {
  Challenge challenge;
  if (DecodeChallenge(body, &challenge).ok()) {
    ExpectSame(body, EncodeChallenge(challenge));
  }
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const ExactBytes body(bytes.subspan(1));
  switch (static_cast<MessageType>(bytes[0])) {
    case MessageType::kError:
      return Error(body.bytes());
    case MessageType::kCreateTableReply:
      return CreateTableReply(body.bytes());
    case MessageType::kLookupReply:
      return LookupReply(body.bytes());
    case MessageType::kUpdateReply:
      return UpdateReply(body.bytes());
    case MessageType::kStatsReply:
      return StatsReply(body.bytes());
    case MessageType::kExportReply:
      return ExportReply(body.bytes());
    case MessageType::kAssignReply:
      return (void)DecodeAssignReply(body.bytes());
    case MessageType::kRemoveReply:
      return RemoveReply(body.bytes());
    case MessageType::kDropTableReply:
      return (void)DecodeDropTableReply(body.bytes());
    case MessageType::kChangesReply:
      return ChangesReply(body.bytes());
    case MessageType::kCheckpointReply:
      return CheckpointReply(body.bytes());
    case MessageType::kChallenge:
      return ServerChallenge(body.bytes());
    case MessageType::kWelcome:
      return (void)DecodeWelcome(body.bytes());
    default:
      return;
  }
}

std::vector<FuzzInput> Seeds() { return TypedInputs(SampleReplies()); }

}  // namespace persia
