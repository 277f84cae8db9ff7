#include <array>

#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/fuzz/support/sample_body.h"
#include "tests/fuzz/support/sample_messages.h"

namespace persia {
namespace {

ServiceStats SomeProcess() {
  ServiceStats process;
  process.address = "127.0.0.1:7000";
  process.lookups = 5;
  process.tables.resize(2);
  process.tables[0].name = "plain";
  process.tables[1].rows = 9;
  return process;
}

void AddLookupReplies(std::vector<SampleMessage>* samples) {
  // Of any dtype: what these words stand for does not matter.
  const std::vector<uint64_t> words(6, 0x3c003c003c003c00);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  constexpr uint64_t kCount = 5;
  constexpr uint32_t kDim = 2;
  for (const WireDtype dtype : {WireDtype::kFloat32, WireDtype::kFloat16,
                                WireDtype::kBfloat16, WireDtype::kInt8}) {
    const ConstBytes rows(bytes, EncodedBytes(dtype, kCount, kDim));
    AddSample(EncodeLookupReply(1, 1, dtype, {rows}), MessageType::kLookupReply,
              samples);
  }
}

void AddPage(std::vector<SampleMessage>* samples) {
  ExportRequest page;
  page.cursor.position = 7;
  page.dim = 2;
  page.state_size = 1;
  page.page.ids = {3, -4};
  page.page.weights.resize(4);
  page.page.state.resize(2);
  AddSample(EncodeExportReply(1, page), MessageType::kExportReply, samples);
  page.page.use_time = UseTime::kSeconds;
  page.page.uses = {{8, 9}, {0, 1}};
  AddSample(EncodeExportReply(1, page), MessageType::kExportReply, samples);
}

void AddChangesReply(std::vector<SampleMessage>* samples) {
  ChangesRequest changes;
  changes.position = {0, 5, 2, 1};
  changes.begins = Begins::kSinceSave;
  changes.complete = true;
  for (const TableConfig& table : SampleTables()) {
    changes.tables.push_back(
        {table, {{3, -4}, std::vector<float>(2 * table.dim), {9}}});
  }
  changes.tables[0].fate = TableFate::kCleared;
  changes.tables.push_back({SampleTables()[0], {}, TableFate::kDropped});
  AddSample(EncodeChangesReply(1, changes), MessageType::kChangesReply,
            samples);
}

void AddCheckpointReplies(std::vector<SampleMessage>* samples) {
  CheckpointProgress running;
  running.state = CheckpointProgress::State::kRunning;
  running.file = "shard";
  running.rows = 3;
  running.needed = "ckpt";
  running.base_outcome = Status(Code::kResourceExhausted, "full");
  CheckpointProgress failed;
  failed.state = CheckpointProgress::State::kEnded;
  failed.outcome = Status(Code::kDataLoss, "no file");
  CheckpointRequest request;
  request.shards = {running, failed};
  AddSample(EncodeCheckpointReply(1, request), MessageType::kCheckpointReply,
            samples);
  request = CheckpointRequest();
  request.action = CheckpointAction::kReadFile;
  request.names = {"one", ""};
  request.contents = {1, 2, 3};
  AddSample(EncodeCheckpointReply(1, request), MessageType::kCheckpointReply,
            samples);
}

}  // namespace

std::vector<SampleMessage> SampleReplies() {
  std::vector<SampleMessage> samples;
  const Status error(Code::kNotFound, "no such table");
  AddSample(EncodeError(1, error), MessageType::kError, &samples);
  CreateTableRequest table;
  AddSample(EncodeCreateTableReply(1, table), MessageType::kCreateTableReply,
            &samples);
  table.state = TableState::kComplete;
  table.identity = 7;
  AddSample(EncodeCreateTableReply(1, table), MessageType::kCreateTableReply,
            &samples);
  AddLookupReplies(&samples);
  AddSample(EncodeUpdateReply(1, UpdateCounts()), MessageType::kUpdateReply,
            &samples);
  AddSample(EncodeStatsReply(1, {SomeProcess(), SomeProcess()}),
            MessageType::kStatsReply, &samples);
  AddPage(&samples);
  AddSample(EncodeAssignReply(1), MessageType::kAssignReply, &samples);
  AddSample(EncodeRemoveReply(1, 3), MessageType::kRemoveReply, &samples);
  AddSample(EncodeDropTableReply(1), MessageType::kDropTableReply, &samples);
  AddChangesReply(&samples);
  AddCheckpointReplies(&samples);
  AddSample(EncodeChallenge(Challenge()), MessageType::kChallenge, &samples);
  AddSample(EncodeWelcome(), MessageType::kWelcome, &samples);
  return samples;
}

}  // namespace persia
