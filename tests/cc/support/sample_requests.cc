#include <array>
#include <utility>

#include "cc/base/hash.h"
#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/cc/support/sample_body.h"
#include "tests/cc/support/sample_messages.h"

namespace persia {
namespace {

constexpr std::array<int64_t, 5> kIds = {-1, 0, 7, 1 << 20, int64_t{1} << 62};
// Ids that are packed, unless vectors are float32.
constexpr std::array<int64_t, 5> kNearIds = {5, -1, 7, 300, 6};
constexpr std::array<uint32_t, 4> kOffsets = {0, 2, 2, 5};
constexpr std::array<float, 5> kWeights = {1, 0.5f, -1, 0, 2};
constexpr std::array<WireDtype, 5> kDtypes = {
    WireDtype::kFloat32, WireDtype::kFloat16, WireDtype::kBfloat16,
    WireDtype::kInt8, WireDtype::kInt4};

TableIds PlainIds(const TableConfig& table) {
  TableIds ids;
  ids.table = HashName(table.name);
  ids.dim = table.dim;
  ids.ids = kIds;
  return ids;
}

TableIds NearIds(const TableConfig& table) {
  TableIds ids = PlainIds(table);
  ids.ids = kNearIds;
  return ids;
}

TableIds BagIds(const TableConfig& table, Combiner combiner) {
  TableIds ids = combiner == Combiner::kSum ? PlainIds(table) : NearIds(table);
  ids.combiner = combiner;
  ids.bag_offsets = kOffsets;
  if (combiner != Combiner::kMean) ids.weights = kWeights;
  return ids;
}

// Ids of each table, in one form after the other.
std::vector<TableIds> AllTableIds() {
  std::vector<TableIds> all;
  uint32_t combiner = 0;
  for (const TableConfig& table : SampleTables()) {
    all.push_back(PlainIds(table));
    all.push_back(NearIds(table));
    all.push_back(BagIds(table, static_cast<Combiner>(1 + combiner++ % 3)));
  }
  return all;
}

void AddCreateTables(std::vector<SampleMessage>* samples) {
  CreateTableRequest request;
  for (const TableConfig& table : SampleTables()) {
    request.config = table;
    for (const OpeningStep step :
         {OpeningStep::kOpen, OpeningStep::kFind, OpeningStep::kPrepare,
          OpeningStep::kComplete}) {
      request.step = step;
      request.identity = step == OpeningStep::kOpen ? 0 : 7;
      AddRequest(request, samples);
    }
  }
}

void AddLookups(std::vector<SampleMessage>* samples) {
  for (const WireDtype dtype : kDtypes) {
    LookupRequest all;
    all.client = 3;
    all.read_only = dtype == WireDtype::kInt8;
    for (const TableIds& ids : AllTableIds()) {
      LookupRequest one;
      one.tables.push_back({ids, {}});
      one.tables[0].absent = static_cast<AbsentRows>(all.tables.size() % 3);
      AddSample(EncodeLookup(1, one, dtype), kRequestType<LookupRequest>,
                samples);
      all.tables.push_back({ids, {}});
    }
    AddSample(EncodeLookup(1, all, dtype), kRequestType<LookupRequest>,
              samples);
  }
}

// Gradients of a table, with their memory.
class SampleGradients {
 public:
  SampleGradients(const TableIds& ids, WireDtype dtype)
      : floats_(ids.vectors() * ids.dim, 0.25f),
        words_(PaddedBytes(dtype, ids.vectors(), ids.dim) / 8),
        vectors_{dtype,
                 ConstBytes(reinterpret_cast<uint8_t*>(words_.data()),
                            EncodedBytes(dtype, ids.vectors(), ids.dim))} {
    EncodeVectors(dtype, VectorKind::kGradients, floats_.data(),
                  VectorPlaces{ids.vectors(), 0, nullptr}, ids.dim,
                  reinterpret_cast<uint8_t*>(words_.data()));
  }

  const WireVectors& vectors() const { return vectors_; }

 private:
  std::vector<float> floats_;
  std::vector<uint64_t> words_;
  WireVectors vectors_;
};

void AddUpdates(std::vector<SampleMessage>* samples) {
  uint64_t sequence = 0;
  for (const WireDtype dtype : kDtypes) {
    for (const TableIds& ids : AllTableIds()) {
      UpdateRequest request;
      request.client = 3;
      request.sequence = ++sequence;
      request.tables.push_back({ids, {}, 0.1f});
      const SampleGradients gradients(ids, dtype);
      AddSample(EncodeUpdate(1, request, {gradients.vectors()}),
                kRequestType<UpdateRequest>, samples);
    }
  }
}

void AddWholeRows(const TableConfig& table,
                  std::vector<SampleMessage>* samples) {
  ExportRequest page;
  page.table = HashName(table.name);
  page.max_rows = 100;
  AddRequest(page, samples);

  const std::vector<float> weights(kIds.size() * table.dim, 0.5f);
  AssignRequest assign;
  assign.table = HashName(table.name);
  assign.dim = table.dim;
  assign.ids = kIds;
  assign.weights = weights;
  AddRequest(assign, samples);
  assign.state_size = table.dim;
  assign.state = weights;
  AddRequest(assign, samples);

  RemoveRequest remove;
  remove.table = HashName(table.name);
  remove.ids = kIds;
  AddRequest(remove, samples);

  DropTableRequest drop;
  drop.table = HashName(table.name);
  drop.drop_id = 11;
  drop.stays = table.dim % 2 == 0;
  AddRequest(drop, samples);
}

void AddChanges(std::vector<SampleMessage>* samples) {
  ChangesRequest changes;
  changes.position = {7, 0, 0, 0};
  changes.max_rows = 100;
  AddRequest(changes, samples);
  changes.position = {7, 5, 2, 1};
  changes.shard = 1;
  changes.member = 3;
  AddRequest(changes, samples);
  changes.whole_rows = true;
  changes.slots.set(5);
  AddRequest(changes, samples);
}

void AddCheckpoints(std::vector<SampleMessage>* samples) {
  CheckpointRequest request;
  AddRequest(request, samples);
  request.action = CheckpointAction::kRestore;
  request.save_id = 7;
  request.parent_id = 5;
  request.generation = 2;
  request.folder = "folder";
  request.files = {"one", ""};
  AddRequest(request, samples);
}

void AddFilesAndTopologies(std::vector<SampleMessage>* samples) {
  FilesRequest request;
  AddRequest(request, samples);
  request.action = FilesAction::kWrite;
  request.folder = "folder";
  request.files = {"one", ""};
  request.contents = {1, 2, 3};
  AddRequest(request, samples);
  TopologyRequest topology;
  AddRequest(topology, samples);
  topology.told = {1, 2, 3};
  topology.founds = true;
  AddRequest(topology, samples);
}

void AddMoves(std::vector<SampleMessage>* samples) {
  HandOverRequest hand_over;
  hand_over.taker = 7;
  hand_over.slots.set(5);
  hand_over.hold_ms = 1;
  hand_over.hold = 1;
  for (const HandOverStep step :
       {HandOverStep::kAsk, HandOverStep::kHold, HandOverStep::kCommit,
        HandOverStep::kRelease, HandOverStep::kEnd}) {
    hand_over.step = step;
    AddRequest(hand_over, samples);
  }

  MoveRequest move;
  for (const MoveAction action :
       {MoveAction::kProgress, MoveAction::kStop, MoveAction::kStart}) {
    move.action = action;
    AddRequest(move, samples);
  }
  StandbyRequest standby;
  for (const StandbyAction action :
       {StandbyAction::kBegin, StandbyAction::kBase, StandbyAction::kRecords,
        StandbyAction::kRetire, StandbyAction::kPromote}) {
    standby.action = action;
    AddRequest(standby, samples);
  }
  standby.standby = 7;
  standby.position = 3;
  standby.checks = true;
  standby.last_crc = 5;
  standby.address = "127.0.0.1:1";
  standby.primary_is_gone = true;
  standby.is_complete = true;
  AddRequest(standby, samples);

  AddRequest(SlotLoadsRequest(), samples);

  move.source = 7;
  move.address = "127.0.0.1:1";
  move.slots.set(5);
  move.most_bytes_per_second = 1;
  AddRequest(move, samples);
}

TableConfig MakeTable(const char* name, uint32_t dim, const char* initializer,
                      const char* optimizer) {
  TableConfig table;
  table.name = name;
  table.dim = dim;
  table.initializer = Spec::Parse(initializer).value();
  table.optimizer = Spec::Parse(optimizer).value();
  return table;
}

}  // namespace

std::vector<TableConfig> SampleTables() {
  TableConfig plain = MakeTable("plain", 2, "uniform", "sgd");
  TableConfig bounded = MakeTable("bounded", 3, "zeros", "adagrad");
  bounded.capacity = Spec::Parse("rows(count=9)").value();
  bounded.eviction = Spec::Parse("lru").value();
  bounded.row_dtype = Spec::Parse("float16").value();
  TableConfig choosy = MakeTable("choosy", 8, "normal", "adam");
  choosy.admission = Spec::Parse("min_count(count=2)").value();
  choosy.eviction = Spec::Parse("ttl(steps=3)").value();
  choosy.row_dtype = Spec::Parse("int8").value();
  return {plain, bounded, choosy};
}

std::vector<SampleMessage> SampleRequests() {
  std::vector<SampleMessage> samples;
  AddCreateTables(&samples);
  AddLookups(&samples);
  AddUpdates(&samples);
  AddRequest(StatsRequest(), &samples);
  for (const TableConfig& table : SampleTables()) {
    AddWholeRows(table, &samples);
  }
  AddChanges(&samples);
  AddCheckpoints(&samples);
  AddFilesAndTopologies(&samples);
  AddMoves(&samples);
  AddSample(EncodeHello(Nonce()), MessageType::kHello, &samples);
  AddSample(EncodeProof(Proof()), MessageType::kProof, &samples);
  return samples;
}

}  // namespace persia
