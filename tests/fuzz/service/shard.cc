#include "tests/fuzz/service/shard.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"

namespace persia {
namespace {

constexpr std::chrono::microseconds kBetweenLooks(100);

class TemporaryFolder {
 public:
  TemporaryFolder() : owner_(::getpid()) {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::string path = has_memory ? "/dev/shm" : "/tmp";
    path += "/service-fuzz-XXXXXX";
    Require(::mkdtemp(path.data()) != nullptr, "a folder can be made");
    path_ = path;
  }
  // A forked process does not remove the folder.
  ~TemporaryFolder() {
    std::error_code ignored;
    if (owner_ == ::getpid()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  const pid_t owner_;
  std::string path_;
};

}  // namespace

const std::string& MachineFolder() {
  static const TemporaryFolder folder;
  return folder.path();
}

bool Owns(int shard, int64_t id) {
  static const auto owners = SlotOwners::Even(kShardCount);
  return owners->OwnerOf(id) == static_cast<uint32_t>(shard);
}

Shard::Shard(Disk* disk, int number, const Options& options)
    : disk_(*disk),
      number_(number),
      options_(options),
      folder_(Concat(MachineFolder(), "/shard", number)) {
  (void)::mkdir(folder_.c_str(), 0700);
  Open();
}

Shard::~Shard() { End(); }

uint64_t Shard::AskMember() {
  TopologyRequest request;
  const Status status = Call(&EmbeddingService::ExchangeTopology, &request);
  Require(status.ok(), "a shard tells its id: ", status.message());
  return request.member;
}

void Shard::Join(const Topology& topology, uint64_t member) {
  TopologyRequest request;
  request.told = topology.Encode();
  const Status status = Call(&EmbeddingService::ExchangeTopology, &request);
  Require(status.ok(), "a shard joins a cluster: ", status.message());
  route_ = topology.RouteOf(member);
}

void Shard::End() {
  if (files_ != nullptr) files_->Release();
  service_ = nullptr;
}

void Shard::Open() {
  files_ = std::make_unique<ProcessFiles>(&disk_);
  LocalServiceOptions options;
  options.checkpoints.files = files_.get();
  options.checkpoints.root = MachineFolder() + "/checkpoints";
  options.recovery.journal.files = files_.get();
  options.recovery.journal.folder = folder_;
  options.recovery.journal.sync = options_.sync;
  options.recovery.journal.least_base_bytes = options_.base_bytes;
  if (options_.has_limits) {
    options.limits.tables = kMostTables;
    options.limits.memory_bytes = kMostMemory;
  }
  auto opened = OpenLocalService(options);
  Require(opened.ok(), "shard ", number_,
          " comes back: ", opened.status().message());
  service_ = std::move(*opened);
}

void Shard::Crash(bool loses_power) {
  files_->Die();
  End();
  if (loses_power && options_.sync == SyncMode::kDevice) {
    disk_.LosePower(folder_);
  }
  Open();
}

void FormCluster(const std::unique_ptr<Shard> (&shards)[kShardCount]) {
  std::vector<Member> members;
  for (const auto& shard : shards) {
    members.push_back({shard->AskMember(),
                       static_cast<uint32_t>(shard->number()), 1, false,
                       Concat("shard:", shard->number())});
  }
  const Topology topology = *Topology::Found(/*cluster=*/1, members);
  for (size_t s = 0; s < members.size(); ++s) {
    shards[s]->Join(topology, members[s].id);
  }
}

size_t Shard::Kill(bool loses_power, const std::vector<ShardModel>& possible) {
  Crash(loses_power);
  ShardModel found = Look();
  size_t chosen = 0;
  const std::string difference = FindDifference(found, possible, &chosen);
  Require(difference.empty(), "after a kill, on shard ", number_, ": ",
          difference);
  for (auto& [name, table] : found.tables) {
    table.config = possible[chosen].tables.at(name).config;
  }
  model = std::move(found);
  return chosen;
}

void Shard::Restart() {
  End();
  Open();
  for (auto& [name, table] : model.tables) table.used.clear();
  Check();
}

void Shard::Check() {
  size_t chosen = 0;
  const std::string difference = FindDifference(Look(), {model}, &chosen);
  Require(difference.empty(), "on shard ", number_, ": ", difference);
}

ShardModel Shard::Look() {
  ShardModel found;
  StatsRequest stats;
  const Status status = Call(&EmbeddingService::Stats, &stats);
  Require(status.ok(), "stats are given: ", status.message());
  found.generation = stats.processes[0].generation;
  for (const TableStats& table : stats.processes[0].tables) {
    TableModel& of_table = found.tables[table.name];
    of_table.rows = RowsOf(table.name);
    const auto known = model.tables.find(table.name);
    if (known == model.tables.end()) {
      of_table.config.name = table.name;
      continue;
    }
    of_table.config = known->second.config;
    CreateTableRequest find;
    find.config = of_table.config;
    find.config.optimizer = *Spec::Parse(kUndecided);  // Any optimizer matches.
    find.step = OpeningStep::kFind;
    const Status asked = Call(&EmbeddingService::CreateTable, &find);
    if (!asked.ok()) {
      Trace("  " + asked.message());
      continue;
    }
    of_table.identity = find.identity;
    of_table.config.optimizer = *Spec::Parse(find.optimizer);
  }
  return found;
}

ModelRows Shard::RowsOf(const std::string& table) {
  ModelRows rows;
  ExportRequest request;
  request.table = HashName(table);
  request.max_rows = 1000;
  while (!request.cursor.at_end()) {
    const Status status = Call(&EmbeddingService::Export, &request);
    Require(status.ok(), "table ", table, " is exported: ", status.message());
    const RowPage& page = request.page;
    for (size_t i = 0; i < page.ids.size(); ++i) {
      const float* weights = page.weights.data() + i * request.dim;
      const float* state = page.state.data() + i * request.state_size;
      const bool is_new =
          rows.emplace(page.ids[i],
                       ModelRow{{weights, weights + request.dim},
                                {state, state + request.state_size}})
              .second;
      Require(is_new, "row ", page.ids[i], " is exported once");
    }
  }
  return rows;
}

Status Shard::WaitForJob() {
  for (;;) {
    CheckpointRequest request;
    request.action = CheckpointAction::kProgress;
    const Status status = Call(&EmbeddingService::Checkpoint, &request);
    Require(status.ok(), "progress is told: ", status.message());
    const CheckpointProgress& progress = request.shards.at(0);
    if (progress.state == CheckpointProgress::State::kEnded) {
      return progress.outcome;
    }
    if (progress.state == CheckpointProgress::State::kIdle || files_->dead()) {
      return Status(Code::kCancelled, "no save or restore has ended here");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace persia
