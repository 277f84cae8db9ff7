// Any bytes as the body of each request. What is decoded is encoded again,
// which must give the same bytes: there is one way to say a thing, and no part
// of a body goes unread.

#include <algorithm>

#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/sample_body.h"
#include "tests/fuzz/support/typed_input.h"

namespace persia {
namespace {

void ExpectSame(ConstBytes body, const OutFrame& again) {
  const std::vector<uint8_t> bytes = BodyOf(again);
  FuzzCheck(std::equal(body.begin(), body.end(), bytes.begin(), bytes.end()),
            "a request that is decoded and encoded is the same");
}

// Texts of settings may come in a longer form than they are sent in.
void CreateTable(ConstBytes body) {
  CreateTableRequest request;
  if (!DecodeCreateTable(body, &request).ok()) return;
  const ExactBytes again(BodyOf(EncodeCreateTable(1, request)));
  CreateTableRequest same;
  FuzzCheck(DecodeCreateTable(again.bytes(), &same).ok(),
            "a table's settings can be sent on");
  FuzzCheck(
      BodyOf(EncodeCreateTable(1, same)) ==
          std::vector<uint8_t>(again.bytes().begin(), again.bytes().end()),
      "a table's settings are the same when they are sent on");
}

void Lookup(ConstBytes body) {
  LookupRequest request;
  WireDtype dtype;
  if (!DecodeLookup(body, &request, &dtype).ok()) return;
  ExpectSame(body, EncodeLookup(1, request, dtype));
}

void Update(ConstBytes body) {
  UpdateRequest request;
  std::vector<WireVectors> gradients;
  if (!DecodeUpdate(body, &request, &gradients).ok()) return;
  ExpectSame(body, EncodeUpdate(1, request, gradients));
  for (size_t t = 0; t < gradients.size(); ++t) {
    const TableIds& ids = request.tables[t].ids;
    std::vector<float> floats(ids.vectors() * ids.dim);
    DecodeVectors(gradients[t], VectorPlaces{ids.vectors(), 0, nullptr},
                  ids.dim, floats.data());
  }
}

void Export(ConstBytes body) {
  ExportRequest request;
  if (DecodeExport(body, &request).ok()) {
    ExpectSame(body, EncodeExport(1, request));
  }
}

void Assign(ConstBytes body) {
  AssignRequest request;
  if (DecodeAssign(body, &request).ok()) {
    ExpectSame(body, EncodeAssign(1, request));
  }
}

void Remove(ConstBytes body) {
  RemoveRequest request;
  if (DecodeRemove(body, &request).ok()) {
    ExpectSame(body, EncodeRemove(1, request));
  }
}

void Changes(ConstBytes body) {
  ChangesRequest request;
  if (DecodeChanges(body, &request).ok()) {
    ExpectSame(body, EncodeChanges(1, request.shard, request));
  }
}

void Checkpoint(ConstBytes body) {
  CheckpointRequest request;
  if (DecodeCheckpoint(body, &request).ok()) {
    ExpectSame(body, EncodeCheckpoint(1, request.shard_index,
                                      request.shard_count, request));
  }
}

void Hello(ConstBytes body) {
  Nonce nonce;
  if (DecodeHello(body, &nonce).ok()) ExpectSame(body, EncodeHello(nonce));
}

void ClientProof(ConstBytes body) {
  Proof proof;
  if (DecodeProof(body, &proof).ok()) ExpectSame(body, EncodeProof(proof));
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const ExactBytes body(bytes.subspan(1));
  switch (static_cast<MessageType>(bytes[0])) {
    case MessageType::kCreateTable:
      return CreateTable(body.bytes());
    case MessageType::kLookup:
      return Lookup(body.bytes());
    case MessageType::kUpdate:
      return Update(body.bytes());
    case MessageType::kExport:
      return Export(body.bytes());
    case MessageType::kAssign:
      return Assign(body.bytes());
    case MessageType::kRemove:
      return Remove(body.bytes());
    case MessageType::kChanges:
      return Changes(body.bytes());
    case MessageType::kCheckpoint:
      return Checkpoint(body.bytes());
    case MessageType::kHello:
      return Hello(body.bytes());
    case MessageType::kProof:
      return ClientProof(body.bytes());
    default:
      return;
  }
}

std::vector<FuzzInput> Seeds() { return TypedInputs(SampleRequests()); }

}  // namespace persia
