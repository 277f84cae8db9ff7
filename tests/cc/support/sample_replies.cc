#include <array>

#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/cc/support/sample_body.h"
#include "tests/cc/support/sample_messages.h"

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
  // The words are sent as each dtype; which numbers they stand for does not
  // matter.
  const std::vector<uint64_t> words(6, 0x3c003c003c003c00);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  constexpr uint64_t kCount = 5;
  constexpr uint32_t kDim = 2;
  for (const WireDtype dtype :
       {WireDtype::kFloat32, WireDtype::kFloat16, WireDtype::kBfloat16,
        WireDtype::kInt8, WireDtype::kInt4}) {
    const ConstBytes rows(bytes, EncodedBytes(dtype, kCount, kDim));
    AddSample(EncodeLookupReply(1, 1, dtype, {rows}), kReplyType<LookupRequest>,
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
  AddReply(page, samples);
  page.page.use_time = UseTime::kSeconds;
  page.page.uses = {{8, 9}, {0, 1}};
  AddReply(page, samples);
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
  changes.held = {2, {{3, SlotSet().set(5)}, {4, SlotSet().set(6)}}};
  changes.fresh.set(6);
  AddReply(changes, samples);
}

// Rows as a shard that takes slots over receives them.
void AddWholeRowsReply(std::vector<SampleMessage>* samples) {
  ChangesRequest changes;
  changes.position = {0, 5, 2, 1};
  for (const TableConfig& config : SampleTables()) {
    TableChanges& table = changes.tables.emplace_back();
    table.config = config;
    table.row_bytes = static_cast<uint32_t>(LayoutOf(config)->row_bytes);
    table.time = 8;
    table.identity = {7, false};
    table.rows.ids = {3, -4};
    table.rows.bytes.resize(2 * table.row_bytes);
    table.rows.erased = {9};
  }
  AddReply(changes, samples);
}

void AddMovingReplies(std::vector<SampleMessage>* samples) {
  HandOverRequest hand_over;
  AddReply(hand_over, samples);
  hand_over.hold = 3;
  hand_over.generation = 2;
  ClientWindow window;
  window.client = 7;
  window.highest = 9;
  window.Set(2);
  hand_over.applied.resize(3);
  hand_over.applied[0].slots.set(5);
  hand_over.applied[0].clients = {window, window};
  hand_over.applied[1].slots.set(6);
  hand_over.topology = {1, 2, 3};
  AddReply(hand_over, samples);

  MoveRequest move;
  AddReply(move, samples);
  move.progress.state = MoveState::kEnded;
  move.progress.outcome = Status(Code::kUnavailable, "no answer");
  move.progress.source = 7;
  move.progress.slots = 9;
  move.progress.moved = 2;
  AddReply(move, samples);

  StandbyRequest standby;
  AddReply(standby, samples);
  standby.position = 3;
  standby.member = 6;
  standby.base_bytes = 4;
  standby.bytes = {1, 2, 3};
  standby.end = 5;
  AddReply(standby, samples);

  SlotLoadsRequest loads;
  AddReply(loads, samples);
  loads.slots.set(5).set(6);
  loads.ids = {64, 32};
  loads.bytes = {2048, 1024};
  AddReply(loads, samples);
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
  AddReply(request, samples);
  FilesRequest files;
  files.names = {"one", ""};
  files.contents = {1, 2, 3};
  AddReply(files, samples);
  TopologyRequest topology;
  AddReply(topology, samples);
  topology.member = 7;
  topology.topology = {1, 2, 3};
  AddReply(topology, samples);
}

}  // namespace

std::vector<SampleMessage> SampleReplies() {
  std::vector<SampleMessage> samples;
  const Status error(Code::kNotFound, "no such table");
  AddSample(EncodeError(1, error), MessageType::kError, &samples);
  CreateTableRequest table;
  AddReply(table, &samples);
  table.state = TableState::kComplete;
  table.identity = 7;
  AddReply(table, &samples);
  AddLookupReplies(&samples);
  AddReply(UpdateRequest(), &samples);
  StatsRequest stats;
  stats.processes = {SomeProcess(), SomeProcess()};
  AddReply(stats, &samples);
  AddPage(&samples);
  AddReply(AssignRequest(), &samples);
  RemoveRequest remove;
  remove.removed = 3;
  AddReply(remove, &samples);
  AddReply(DropTableRequest(), &samples);
  AddChangesReply(&samples);
  AddWholeRowsReply(&samples);
  AddCheckpointReplies(&samples);
  AddMovingReplies(&samples);
  AddSample(EncodeChallenge(Challenge()), MessageType::kChallenge, &samples);
  AddSample(EncodeWelcome(), MessageType::kWelcome, &samples);
  return samples;
}

}  // namespace persia
