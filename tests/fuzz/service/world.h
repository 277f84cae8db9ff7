// World: a cluster of two shards and two jobs that use them, with checks of the
// results. Not thread-safe.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_WORLD_H_
#define PERSIA_TESTS_FUZZ_SERVICE_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "tests/fuzz/service/disk.h"
#include "tests/fuzz/service/model.h"
#include "tests/fuzz/service/program.h"
#include "tests/fuzz/service/shard.h"
#include "tests/fuzz/service/tables.h"

namespace persia {

// Runs a program in a new world. Fails if something that must hold does not.
void RunProgram(Span<const uint8_t> program);

// What the product is known not to guarantee, so that programs avoid it.
struct Allowances {
  // A restored checkpoint is kept until there is a base.
  bool keeps_restored_checkpoints = true;
  // A drop is not repeated after its shard has ended.
  bool repeats_no_drop_after_an_end = true;
  // If true, programs have no such tables.
  bool no_expiry = false;
  bool no_refused_memory = false;
};
Allowances* allowances();

class World {
 public:
  explicit World(Span<const uint8_t> settings);
  ~World();

  void Run(const Step& step);
  // Kills both shards; they must have everything afterwards.
  void End();

 private:
  static constexpr int kJobs = 2;
  static TableConfig ConfigOf(int job, Slot slot, Variant variant);
  using Ids = std::vector<int64_t>;

  // An update as it was sent.
  struct Sent {
    struct OfTable {
      std::string name;
      uint32_t dim;
      Ids ids;
      std::vector<float> gradients;
    };
    uint64_t client = 0;
    uint64_t sequence = 0;
    uint64_t generation = 0;
    std::vector<OfTable> tables;
  };

  struct Job {
    int number = 0;
    uint64_t client = 0;
    uint64_t sequence = 0;
    Sent sent[kShardCount];  // The last update to each; sequence 0: none.
  };

  struct Drop {
    uint64_t id = 0;
    std::string table;
    bool stays = false;
    int ends[kShardCount] = {};  // Of the shards, at that time.
  };

  struct PendingSave {
    Job* job = nullptr;  // Null if there is none.
    CheckpointModel checkpoint;
    bool commits = false;
    bool is_intact = true;  // No shard died or was asked to drop meanwhile.
    bool saw_drop = false;
    bool is_begun[kShardCount] = {};
  };

  // world.cc
  Shard* shard(int number) { return shards_[number].get(); }
  Job* JobOf(uint8_t byte) { return &jobs_[byte % kJobs]; }
  using Change = std::function<void(ShardModel*)>;
  // If the shard died, restarts it. It must then have the effects of the first
  // k of `changes`, for some k. Returns whether it died, and k in `made`.
  bool Died(Shard* shard, const std::vector<Change>& changes = {},
            size_t* made = nullptr);
  void AfterEnd(Shard* shard);
  TableModel* FindTable(Shard* shard, const std::string& name);

  // tables_world.cc
  void Create(const Step& step, Variant variant);
  void CreateOn(Shard* asked, const TableConfig& config, OpeningStep opening,
                bool replaces, uint64_t* identity);
  void DropTable(const Step& step);
  void RepeatDrop(const Step& step);
  void Assign(const Step& step);
  void Remove(const Step& step);

  // training.cc
  void Train(const Step& step, int tables);
  void TrainOn(Job* job, Shard* asked, const std::vector<Slot>& slots,
               const Step& step);
  void Read(const Step& step);
  void Resend(const Step& step);
  static Status SendUpdate(Shard* shard, const Sent& sent,
                           UpdateCounts* counts);
  // Applies an update to `model`; returns its counts.
  static UpdateCounts Apply(const Sent& sent, ShardModel* model);
  // For a table that rows may leave: takes over the rows that the shard has, if
  // they are possible.
  void Learn(Shard* shard, const std::string& name, const Ids& may_be_new);
  static Ids IdsOf(const Step& step, size_t most);
  // Those of the ids that a shard owns.
  static Ids OwnIds(const Ids& ids, const Shard& shard);

  // saving.cc
  void Save(const Step& step);
  void EndSave();
  uint64_t ParentFor(bool wanted);
  void Restore(const Step& step);
  void RestoreOn(Shard* asked, const CheckpointModel& checkpoint,
                 uint64_t generation, bool holds_base);
  void RemoveCheckpoint(const Step& step);
  void Base(const Step& step);
  void HoldBase(Shard* shard, uint64_t bases_before);
  void EndBase(Shard* shard);
  bool IsNeeded(uint64_t checkpoint);

  Disk disk_;
  std::unique_ptr<Shard> shards_[kShardCount];
  Job jobs_[kJobs];
  std::vector<CheckpointModel> checkpoints_;
  uint64_t last_number_ = 0;  // Of saves, restores, and drops.
  std::vector<Drop> drops_;
  PendingSave pending_;
  bool loses_power_ = false;
  int ends_[kShardCount] = {};
  bool base_is_held_[kShardCount] = {};
  uint64_t bases_before_[kShardCount] = {};
  // Checkpoints that a shard needs until it has more than `bases` bases.
  struct Need {
    std::vector<uint64_t> checkpoints;
    uint64_t bases = 0;
  };
  Need needs_[kShardCount];
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_WORLD_H_
