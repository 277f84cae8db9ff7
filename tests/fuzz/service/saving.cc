// Checkpoints, and bases of logs.

#include <algorithm>
#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"
#include "tests/fuzz/service/world.h"

namespace persia {
namespace {

constexpr size_t kPaddingIds = 1700;  // Records of more than kBaseBytes.

std::string ShardFileName(int shard) { return Concat("shard-0000", shard); }

CheckpointRequest About(const CheckpointModel& checkpoint,
                        CheckpointAction action) {
  CheckpointRequest request;
  request.action = action;
  request.save_id = checkpoint.id;
  request.parent_id = checkpoint.parent;
  request.folder = checkpoint.folder;
  return request;
}

}  // namespace

uint64_t World::ParentFor(bool wanted) {
  uint64_t parent = 0;
  for (int s = 0; s < kShardCount; ++s) {
    CheckpointRequest request;
    const Status status =
        shard(s)->Call(&EmbeddingService::Checkpoint, &request);
    Require(status.ok(), "progress is told: ", status.message());
    const uint64_t base = request.shards.at(0).base_id;
    if (base == 0 || (s > 0 && base != parent)) return 0;
    parent = base;
  }
  const bool is_there =
      std::any_of(checkpoints_.begin(), checkpoints_.end(),
                  [&](const CheckpointModel& checkpoint) {
                    return checkpoint.id == parent && checkpoint.is_whole;
                  });
  return wanted && is_there ? parent : 0;
}

void World::Save(const Step& step) {
  EndSave();
  Job* const job = JobOf(step.a);
  for (const auto& each : shards_) EndBase(each.get());
  CheckpointModel checkpoint;
  checkpoint.id = ++last_number_;
  checkpoint.parent = ParentFor(step.b % 4 >= 2);
  checkpoint.folder = Concat("save-", checkpoint.id);
  for (const CheckpointModel& each : checkpoints_) {
    if (each.id == checkpoint.parent) checkpoint.files = each.files;
  }
  Trace(Concat("  save ", checkpoint.id, " of job ", job->number,
               ", increment of ", checkpoint.parent));
  pending_ = PendingSave();
  pending_.job = job;
  pending_.commits = step.b / 4 % 4 != 0;
  const bool is_held = step.b % 2 != 0;
  for (int s = 0; s < kShardCount; ++s) {
    Shard* const asked = shard(s);
    if (is_held) asked->files()->HoldAt(ProcessFiles::kCheckpoint);
    CheckpointRequest request = About(checkpoint, CheckpointAction::kSave);
    checkpoint.files.push_back(checkpoint.folder + "/" + ShardFileName(s));
    checkpoint.parts.push_back(asked->model);
    const Status status = asked->Call(&EmbeddingService::Checkpoint, &request);
    if (Died(asked)) break;
    Require(status.ok(), "a save begins: ", status.message());
    pending_.is_begun[s] = true;
    if (is_held) asked->files()->WaitForHeld(ProcessFiles::kCheckpoint);
  }
  pending_.checkpoint = std::move(checkpoint);
  if (!is_held || !pending_.is_intact) EndSave();
}

void World::EndSave() {
  if (pending_.job == nullptr) return;
  for (int s = 0; s < kShardCount; ++s) {
    Shard* const asked = shard(s);
    asked->files()->Release();
    if (!pending_.is_begun[s]) continue;
    const Status outcome = asked->WaitForJob();
    if (Died(asked) || !pending_.is_intact) continue;
    Require(outcome.ok(), "a save ends: ", outcome.message());
  }
  CheckpointModel checkpoint = std::move(pending_.checkpoint);
  checkpoint.is_whole = pending_.is_intact;
  Trace(Concat("  save ", checkpoint.id,
               checkpoint.is_whole ? " is whole" : " is not whole"));
  checkpoints_.push_back(checkpoint);
  if (pending_.commits && checkpoint.is_whole) {
    for (const auto& each : shards_) {
      Shard* const asked = each.get();
      CheckpointRequest request = About(checkpoint, CheckpointAction::kCommit);
      request.files = checkpoint.files;
      const Status status =
          asked->Call(&EmbeddingService::Checkpoint, &request);
      if (Died(asked)) break;
      Require(status.ok() || pending_.saw_drop,
              "a save is committed: ", status.message());
    }
  }
  pending_ = PendingSave();
}

void World::Restore(const Step& step) {
  EndSave();
  Job* const job = JobOf(step.a);
  if (checkpoints_.empty()) return;
  const CheckpointModel& checkpoint =
      checkpoints_[checkpoints_.size() - 1 -
                   step.b % std::min<size_t>(4, checkpoints_.size())];
  if (!checkpoint.is_whole) return;
  const uint64_t generation = ++last_number_;
  Trace(Concat("  job ", job->number, " restores save ", checkpoint.id,
               ", generation ", generation));
  for (const auto& each : shards_) {
    RestoreOn(each.get(), checkpoint, generation, step.c % 4 == 0);
  }
}

void World::RestoreOn(Shard* asked, const CheckpointModel& checkpoint,
                      uint64_t generation, bool holds_base) {
  bool may_be_refused = false;
  for (const auto& [name, table] : asked->model.tables) {
    for (const ShardModel& part : checkpoint.parts) {
      const auto saved = part.tables.find(name);
      may_be_refused |= saved != part.tables.end() &&
                        !HasSameSettings(table.config, saved->second.config);
    }
  }
  CheckpointRequest request = About(checkpoint, CheckpointAction::kRestore);
  request.parent_id = 0;
  request.files = checkpoint.files;
  Status status = asked->Call(&EmbeddingService::Checkpoint, &request);
  if (Died(asked)) return;
  if (status.ok()) status = asked->WaitForJob();
  if (Died(asked)) return;
  if (!status.ok()) {
    Trace("  it is refused: " + status.message());
    Require(may_be_refused, "a checkpoint is read: ", status.message());
    return;
  }
  const Change change = [&](ShardModel* model) {
    *model = Restored(*model, checkpoint, asked->number(), generation);
  };
  // The log is read from the last base on, and with it each restore since then.
  (void)IsNeeded(0);
  Need need = needs_[asked->number()];
  need.checkpoints.push_back(checkpoint.id);
  for (const CheckpointModel& each : checkpoints_) {
    const auto file = each.files.empty() ? std::string() : each.files.back();
    if (std::count(checkpoint.files.begin(), checkpoint.files.end(), file)) {
      need.checkpoints.push_back(each.id);
    }
  }
  const bool was_held = base_is_held_[asked->number()];
  // A base that was begun before the restore has the rows from before it.
  need.bases = asked->files()->bases() + (was_held ? 1 : 0);
  if (holds_base && !was_held) asked->files()->HoldAt(ProcessFiles::kBase);
  request.action = CheckpointAction::kSwap;
  request.generation = generation;
  status = asked->Call(&EmbeddingService::Checkpoint, &request);
  if (Died(asked, {change})) {
    need.bases = 0;
    if (asked->model.generation == generation) {
      needs_[asked->number()] = std::move(need);
    }
    return;
  }
  if (!status.ok()) {
    asked->files()->Release();
    Trace("  it is refused: " + status.message());
    Require(may_be_refused, "a checkpoint is swapped in: ", status.message());
    return;
  }
  needs_[asked->number()] = need;
  change(&asked->model);
  for (auto& [name, table] : asked->model.tables) {
    if (!IsCapped(table.config)) continue;
    Learn(asked, name, {});
  }
  asked->Check();
  if (was_held) {
    // The held base has the rows from before the restore, and another base
    // follows.
    bases_before_[asked->number()] = need.bases;
    return;
  }
  if (!holds_base) {
    Require(asked->files()->WaitForBase(need.bases) || asked->files()->dead(),
            "a restore is followed by a base");
    return;
  }
  HoldBase(asked, need.bases);
}

// Waits until the base that is due has begun, and is held.
void World::HoldBase(Shard* shard, uint64_t bases_before) {
  const bool is_held = shard->files()->WaitForHeld(ProcessFiles::kBase);
  Require(is_held || shard->files()->dead(), "a base that is due is begun");
  base_is_held_[shard->number()] = is_held;
  // A base may have been under way already when the hold began.
  bases_before_[shard->number()] =
      std::max(bases_before, shard->files()->bases());
}

bool World::IsNeeded(uint64_t checkpoint) {
  for (int s = 0; s < kShardCount; ++s) {
    if (shard(s)->files()->bases() > needs_[s].bases) needs_[s] = Need();
    const auto& needed = needs_[s].checkpoints;
    if (std::count(needed.begin(), needed.end(), checkpoint) > 0) return true;
  }
  return false;
}

void World::RemoveCheckpoint(const Step& step) {
  EndSave();
  if (checkpoints_.empty()) return;
  CheckpointModel* const removed = &checkpoints_[step.b % checkpoints_.size()];
  if (allowances()->keeps_restored_checkpoints && IsNeeded(removed->id)) return;
  for (int s = 0; s < kShardCount; ++s) {
    const std::string file = removed->folder + "/" + ShardFileName(s);
    (void)disk_.Remove(MachineFolder() + "/checkpoints/" + file);
    for (CheckpointModel& each : checkpoints_) {
      if (std::count(each.files.begin(), each.files.end(), file) > 0) {
        each.is_whole = false;
      }
    }
  }
}

void World::Base(const Step& step) {
  EndSave();
  Shard* const asked = shard(step.a % kShardCount);
  EndBase(asked);
  const TableModel* any = nullptr;
  for (const auto& [name, table] : asked->model.tables) {
    if (!IsUndecided(table.config.optimizer)) any = &table;
  }
  if (any == nullptr) return;
  const bool is_held = step.b % 2 != 0;
  if (is_held) asked->files()->HoldAt(ProcessFiles::kBase);
  const uint64_t before = asked->files()->bases();
  // The padding changes no row, and takes room in the log.
  Sent padding;
  padding.generation = asked->model.generation;
  Ids ids;
  for (int64_t id = 1000000; ids.size() < kPaddingIds; ++id) {
    if (Owns(asked->number(), id)) ids.push_back(id);
  }
  const uint32_t dim = any->config.dim;
  padding.tables.push_back(
      {any->config.name, dim, ids, std::vector<float>(ids.size() * dim)});
  UpdateCounts counts;
  const Status status = SendUpdate(asked, padding, &counts);
  if (Died(asked)) return;
  Require(status.ok() && counts.absent == kPaddingIds,
          "an update of absent rows is taken: ", status.message());
  if (is_held) {
    return HoldBase(asked, before);
  }
  Require(asked->files()->WaitForBase(before) || asked->files()->dead(),
          "a base that is due is written");
  (void)Died(asked);
}

void World::EndBase(Shard* shard) {
  const int number = shard->number();
  if (!base_is_held_[number]) return;
  base_is_held_[number] = false;
  shard->files()->Release();
  Require(shard->files()->WaitForBase(bases_before_[number]) ||
              shard->files()->dead(),
          "a base that was begun is written");
  (void)Died(shard);
}

}  // namespace persia
