#include "tests/fuzz/service_steps/threads.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/support/shard_of.h"
#include "tests/fuzz/service/disk.h"
#include "tests/fuzz/service/shard.h"
#include "tests/fuzz/service/tables.h"
#include "tests/fuzz/service_steps/column.h"

namespace persia {
namespace {

constexpr int kClients = 2;
constexpr int kRounds = 8;       // Per world.
constexpr int kRoundSteps = 60;  // Per client and round.
constexpr uint64_t kOftenBytes = 12 << 10;
constexpr char kShared[] = "shared";
constexpr size_t kKeptCheckpoints = 3;

using Ids = std::vector<int64_t>;
using Random = std::mt19937_64;

TableConfig SharedConfig() {
  TableConfig config = ConfigOf(1, kPlain, Variant::kUsual);
  config.name = kShared;
  config.initializer = *Spec::Parse("zeros");
  config.dim = kClients;
  return config;
}

Ids IdsOf(int shard) {
  Ids ids;
  for (int64_t id = 0; ids.size() < 20; ++id) {
    if (Owns(shard, id)) ids.push_back(id);
  }
  return ids;
}

struct Snapshot {
  uint64_t save = 0;
  uint64_t parent = 0;
  std::vector<std::string> files;  // The parent's come first.
  ColumnSnapshot columns[kShardCount][kClients];
};

class ThreadedWorld {
 public:
  explicit ThreadedWorld(uint64_t seed);

  // Returns its steps.
  uint64_t RunRound();

 private:
  void TrainAll(int client, uint64_t seed);
  bool Train(int client, int shard, Random* random);
  void Operate(Random* random);
  bool Save(bool is_increment);
  bool Knows(int shard, uint64_t save);
  Status Ask(int shard, const Snapshot& of, CheckpointAction action,
             uint64_t generation);
  void Restore(const Snapshot& snapshot);
  void RestoreShard(int shard, const Snapshot& snapshot, uint64_t generation);
  void MakeAndDrop(uint64_t seed);
  void Pad(int shard);
  void Settle(int shard);
  void SendUnknown(int shard, int client, uint64_t generation);
  Status Send(int shard, int client, const SentUpdate& update);
  Counts Expect(int shard, int client, uint64_t generation, int marker);

  bool dead(int shard) { return shards_[shard]->files()->dead(); }

  Random random_;
  Disk disk_;
  std::unique_ptr<Shard> shards_[kShardCount];
  Ids ids_[kShardCount];
  Column columns_[kShardCount][kClients];
  uint64_t sequences_[kClients] = {};
  uint64_t generations_[kShardCount] = {};  // Before this round.
  std::vector<Snapshot> snapshots_;
  const Snapshot* restored_ = nullptr;  // In this round; may be null.
  uint64_t last_number_ = 0;
  std::atomic<uint64_t> steps_{0};
};

ThreadedWorld::ThreadedWorld(uint64_t seed) : random_(seed) {
  BeginTrace();
  Shard::Options options;
  options.sync = seed % 2 == 0 ? SyncMode::kDevice : SyncMode::kSystem;
  options.base_bytes = kOftenBytes;
  for (int s = 0; s < kShardCount; ++s) {
    shards_[s] = std::make_unique<Shard>(&disk_, s, options);
    ids_[s] = IdsOf(s);
  }
  FormCluster(shards_);
  for (const auto& shard : shards_) {
    CreateTableRequest request;
    request.config = SharedConfig();
    const Status made = shard->Call(&EmbeddingService::CreateTable, &request);
    Require(made.ok(), "a table is made: ", made.message());
  }
}

uint64_t ThreadedWorld::RunRound() {
  Trace("a round");
  steps_ = 0;
  restored_ = nullptr;
  std::vector<std::thread> threads;
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([this, c, seed = random_()] { TrainAll(c, seed); });
  }
  threads.emplace_back([this, seed = random_()] { MakeAndDrop(seed); });
  Operate(&random_);
  for (std::thread& thread : threads) thread.join();
  for (int s = 0; s < kShardCount; ++s) {
    if (dead(s) || random_() % 4 == 0) {
      Trace(Concat("shard ", s, " is killed"));
      shards_[s]->Crash(/*loses_power=*/random_() % 2 == 0);
    }
    Settle(s);
  }
  return steps_;
}

void ThreadedWorld::TrainAll(int client, uint64_t seed) {
  Random random(seed);
  bool ended[kShardCount] = {};
  for (int step = 0; step < kRoundSteps; ++step) {
    ++sequences_[client];
    for (int s = 0; s < kShardCount; ++s) {
      ended[s] = ended[s] || !Train(client, s, &random);
    }
  }
}

// Returns false once the shard has died, so that it is unknown whether an
// update was applied.
bool ThreadedWorld::Train(int client, int shard, Random* random) {
  if (dead(shard)) return false;
  SentUpdate update;
  update.sequence = sequences_[client];
  for (const int64_t id : ids_[shard]) {
    if (update.ids.empty() || (*random)() % 4 == 0) update.ids.push_back(id);
  }
  std::vector<float> rows(update.ids.size() * kClients);
  LookupRequest lookup;
  TableIds of;
  of.table = HashName(kShared);
  of.dim = kClients;
  of.ids = update.ids;
  lookup.tables.push_back({of, rows});
  const Status looked =
      shards_[shard]->Call(&EmbeddingService::Lookup, &lookup);
  ++steps_;
  if (dead(shard)) return false;
  Require(looked.ok(), "rows are looked up: ", looked.message());
  update.generation = lookup.generation;
  Column* const column = &columns_[shard][client];
  column->Begin(update);
  const Status sent = Send(shard, client, update);
  ++steps_;
  if (dead(shard)) return false;
  if (!sent.ok()) {
    Require(sent.code() == Code::kFailedPrecondition,
            "an update is applied, or of an old generation: ", sent.message());
    column->Refuse();
    return true;
  }
  column->Acknowledge();
  if ((*random)() % 4 == 0) (void)Send(shard, client, update);
  return true;
}

Status ThreadedWorld::Send(int shard, int client, const SentUpdate& update) {
  std::vector<float> gradients(update.ids.size() * kClients);
  for (size_t i = 0; i < update.ids.size(); ++i) {
    gradients[i * kClients + static_cast<size_t>(client)] = -1;
  }
  UpdateRequest request;
  request.client = static_cast<uint64_t>(client) + 1;
  request.sequence = update.sequence;
  request.generation = update.generation;
  request.route = shards_[shard]->route();
  TableIds of;
  of.table = HashName(kShared);
  of.dim = kClients;
  of.ids = update.ids;
  request.tables.push_back({of, gradients, 1.0f, 1});
  return shards_[shard]->Call(&EmbeddingService::Update, &request);
}

// Saves before it restores, because the contents of a save after a restore are
// harder to predict.
void ThreadedWorld::Operate(Random* random) {
  const bool kills = (*random)() % 3 == 0;
  const auto killed = static_cast<int>((*random)() % kShardCount);
  if (kills && (*random)() % 2 == 0) {
    shards_[killed]->files()->DieAfter((*random)() % 60, (*random)() % 256);
  }
  bool is_whole = true;
  for (uint64_t saves = (*random)() % 3; saves > 0 && is_whole; --saves) {
    is_whole = Save((*random)() % 2 == 0);
  }
  if ((*random)() % 2 == 0) Pad(static_cast<int>((*random)() % kShardCount));
  if ((*random)() % 3 == 0 && !snapshots_.empty() && is_whole) {
    Restore(snapshots_[(*random)() % snapshots_.size()]);
  }
  if (kills) shards_[killed]->files()->Die();
}

Status ThreadedWorld::Ask(int shard, const Snapshot& of,
                          CheckpointAction action, uint64_t generation) {
  CheckpointRequest request;
  request.action = action;
  request.save_id = of.save;
  request.generation = generation;
  request.folder = Concat("threads-", of.save);
  if (action != CheckpointAction::kSave) request.files = of.files;
  request.parent_id = of.parent;
  ++steps_;
  return shards_[shard]->Call(&EmbeddingService::Checkpoint, &request);
}

// Whether the next save may be an increment of `save`.
bool ThreadedWorld::Knows(int shard, uint64_t save) {
  CheckpointRequest request;
  const Status status =
      shards_[shard]->Call(&EmbeddingService::Checkpoint, &request);
  return status.ok() && request.shards.at(0).base_id == save;
}

// Returns whether all shards are still alive.
bool ThreadedWorld::Save(bool is_increment) {
  Snapshot snapshot;
  snapshot.save = ++last_number_;
  if (is_increment && !snapshots_.empty() && Knows(0, snapshots_.back().save) &&
      Knows(1, snapshots_.back().save)) {
    snapshot.parent = snapshots_.back().save;
    snapshot.files = snapshots_.back().files;
  }
  for (int s = 0; s < kShardCount; ++s) {
    snapshot.files.push_back(
        Concat("threads-", snapshot.save, "/shard-0000", s));
  }
  for (int s = 0; s < kShardCount; ++s) {
    // A job that was begun on this shard goes on although another shard died.
    (void)shards_[s]->WaitForJob();
    size_t least[kClients];
    for (int c = 0; c < kClients; ++c) least[c] = columns_[s][c].Take().least;
    const Status begun = Ask(s, snapshot, CheckpointAction::kSave, 0);
    for (int c = 0; c < kClients; ++c) {
      snapshot.columns[s][c] = columns_[s][c].Take();
      snapshot.columns[s][c].least = least[c];
    }
    if (dead(s)) return false;
    // A table was just dropped, so it is not known what changed.
    if (!begun.ok() && snapshot.parent != 0) return true;
    Require(begun.ok(), "a save begins: ", begun.message());
  }
  for (int s = 0; s < kShardCount; ++s) {
    const Status ended = shards_[s]->WaitForJob();
    if (dead(s)) return false;
    Require(ended.ok(), "a save ends: ", ended.message());
  }
  for (int s = 0; s < kShardCount; ++s) {
    // May fail, because a table may have been dropped meanwhile.
    (void)Ask(s, snapshot, CheckpointAction::kCommit, 0);
    if (dead(s)) return false;
  }
  Trace(Concat("save ", snapshot.save, ", increment of ", snapshot.parent));
  if (snapshots_.size() == kKeptCheckpoints)
    snapshots_.erase(snapshots_.begin());
  snapshots_.push_back(std::move(snapshot));
  return true;
}

void ThreadedWorld::Restore(const Snapshot& snapshot) {
  const uint64_t generation = ++last_number_;
  restored_ = &snapshot;
  Trace(Concat("restore of save ", snapshot.save, ", generation ", generation));
  for (int s = 0; s < kShardCount; ++s) RestoreShard(s, snapshot, generation);
}

// Reads again as long as the other job changed its tables meanwhile.
void ThreadedWorld::RestoreShard(int shard, const Snapshot& snapshot,
                                 uint64_t generation) {
  // A job that was begun on this shard goes on although another shard died.
  (void)shards_[shard]->WaitForJob();
  for (;;) {
    Status status = Ask(shard, snapshot, CheckpointAction::kRestore, 0);
    if (status.ok()) status = shards_[shard]->WaitForJob();
    if (dead(shard)) return;
    Require(status.ok(), "a checkpoint is read: ", status.message());
    status = Ask(shard, snapshot, CheckpointAction::kSwap, generation);
    if (status.ok() || dead(shard)) return;
    Require(status.code() == Code::kFailedPrecondition,
            "a checkpoint is swapped in: ", status.message());
  }
}

// The other job, which makes, changes and drops tables of its own.
void ThreadedWorld::MakeAndDrop(uint64_t seed) {
  Random random(seed);
  for (int step = 0; step < kRoundSteps / 2; ++step) {
    const auto shard = static_cast<int>(random() % kShardCount);
    if (dead(shard)) continue;
    const auto slot = static_cast<Slot>(random() % kSlotCount);
    TableConfig config = ConfigOf(2, slot, Variant::kUsual);
    Shard* const asked = shards_[shard].get();
    const Ids& ids = ids_[shard];
    std::vector<float> rows(ids.size() * config.dim);
    TableIds of;
    of.table = HashName(config.name);
    of.dim = config.dim;
    of.ids = ids;
    ++steps_;
    switch (random() % 8) {
      case 0:
      case 1: {
        CreateTableRequest request;
        request.config = config;
        // Is refused if the table has got another optimizer.
        (void)asked->Call(&EmbeddingService::CreateTable, &request);
        break;
      }
      case 2: {
        DropTableRequest request;
        request.table = of.table;
        request.stays = random() % 2 == 0;
        request.drop_id = random() | 1;
        (void)asked->Call(&EmbeddingService::DropTable, &request);
        break;
      }
      case 3: {
        StatsRequest request;
        (void)asked->Call(&EmbeddingService::Stats, &request);
        break;
      }
      case 4: {
        ExportRequest request;
        request.table = HashName(kShared);
        request.max_rows = 10;
        (void)asked->Call(&EmbeddingService::Export, &request);
        break;
      }
      case 5: {
        AssignRequest request;
        request.table = of.table;
        request.dim = config.dim;
        request.ids = ids;
        request.weights = rows;
        (void)asked->Call(&EmbeddingService::Assign, &request);
        break;
      }
      default: {
        LookupRequest request;
        request.tables.push_back({of, rows});
        (void)asked->Call(&EmbeddingService::Lookup, &request);
        UpdateRequest update;
        update.generation = request.generation;
        update.tables.push_back({of, rows, 1.0f, 1});
        (void)asked->Call(&EmbeddingService::Update, &update);
        break;
      }
    }
  }
}

// Fills the log until a base is due.
void ThreadedWorld::Pad(int shard) {
  if (dead(shard)) return;
  Ids ids;
  for (int64_t id = 1000000; ids.size() < 1000; ++id) {
    if (Owns(shard, id)) ids.push_back(id);
  }
  const std::vector<float> gradients(ids.size() * kClients);
  UpdateRequest request;
  request.generation = generations_[shard];
  TableIds of;
  of.table = HashName(kShared);
  of.dim = kClients;
  of.ids = ids;
  request.tables.push_back({of, gradients, 1.0f, 1});
  (void)shards_[shard]->Call(&EmbeddingService::Update, &request);
}

void ThreadedWorld::SendUnknown(int shard, int client, uint64_t generation) {
  const auto update = columns_[shard][client].Unknown();
  if (!update) return;
  const Status sent = Send(shard, client, *update);
  if (update->generation == generation) {
    Require(sent.ok(), "an update is taken again: ", sent.message());
    columns_[shard][client].Acknowledge();
  } else {
    Require(sent.code() == Code::kFailedPrecondition,
            "an update of another generation is refused");
    columns_[shard][client].Refuse();
  }
}

Counts ThreadedWorld::Expect(int shard, int client, uint64_t generation,
                             int marker) {
  ColumnSnapshot now = columns_[shard][client].Take();
  if (generation == generations_[shard]) {
    for (const SentUpdate& update : now.sent) Count(update, &now.settled);
    return now.settled;
  }
  Require(restored_ != nullptr, "a generation comes of a restore");
  const ColumnSnapshot& saved = restored_->columns[shard][client];
  Counts counts = saved.settled;
  int later = 0;
  for (const SentUpdate& update : now.sent) {
    later += update.generation == generation;
  }
  const int64_t first = ids_[shard][0];
  const auto at = counts.find(first);
  const int of_save = marker - later - (at == counts.end() ? 0 : at->second);
  Require(of_save >= static_cast<int>(saved.least) &&
              of_save <= static_cast<int>(saved.sent.size()),
          "save ", restored_->save, " has ", saved.least, " to ",
          saved.sent.size(), " updates of client ", client, " on shard ", shard,
          ", not ", of_save);
  for (int i = 0; i < of_save; ++i) Count(saved.sent[i], &counts);
  for (const SentUpdate& update : now.sent) {
    if (update.generation == generation) Count(update, &counts);
  }
  return counts;
}

void ThreadedWorld::Settle(int shard) {
  StatsRequest stats;
  const Status told = shards_[shard]->Call(&EmbeddingService::Stats, &stats);
  Require(told.ok(), "stats are given: ", told.message());
  const uint64_t generation = stats.processes[0].generation;
  for (int c = 0; c < kClients; ++c) SendUnknown(shard, c, generation);
  const ModelRows rows = shards_[shard]->RowsOf(kShared);
  for (int c = 0; c < kClients; ++c) {
    const auto value = [&](int64_t id) {
      const auto row = rows.find(id);
      if (row == rows.end()) return 0;
      return static_cast<int>(row->second.weights[static_cast<size_t>(c)]);
    };
    const Counts counts = Expect(shard, c, generation, value(ids_[shard][0]));
    for (const int64_t id : ids_[shard]) {
      const auto counted = counts.find(id);
      const int wanted = counted == counts.end() ? 0 : counted->second;
      Require(value(id) == wanted, "row ", id, " of shard ", shard, " has ",
              value(id), " updates of client ", c, " instead of ", wanted);
    }
    columns_[shard][c].Settle(counts);
  }
  generations_[shard] = generation;
}

}  // namespace

uint64_t RunThreads(uint64_t seed) {
  uint64_t steps = 0;
  ThreadedWorld world(seed);
  for (int round = 0; round < kRounds; ++round) steps += world.RunRound();
  return steps;
}

}  // namespace persia
