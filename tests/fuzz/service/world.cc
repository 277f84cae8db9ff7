#include "tests/fuzz/service/world.h"

#include <utility>

namespace persia {
namespace {

std::string TextOf(const Step& step) {
  return Concat(NameOf(step.action), " ", int{step.a}, " ", int{step.b}, " ",
                int{step.c});
}

}  // namespace

Allowances* allowances() {
  static Allowances allowances;
  return &allowances;
}

void RunProgram(Span<const uint8_t> program) {
  if (program.size() < kSettingsBytes) return;
  BeginTrace();
  World world(program.first(kSettingsBytes));
  program = program.subspan(kSettingsBytes);
  while (program.size() >= kStepBytes) {
    world.Run(StepOf(program.first(kStepBytes)));
    program = program.subspan(kStepBytes);
  }
  world.End();
}

World::World(Span<const uint8_t> settings) {
  Shard::Options options;
  options.sync = settings[1] % 2 == 0 ? SyncMode::kDevice : SyncMode::kSystem;
  if (settings[1] % 2 == 0) Trace("logs are synced");
  for (int j = 0; j < kJobs; ++j) {
    jobs_[j].number = j + 1;
    jobs_[j].client = static_cast<uint64_t>(j) + 11;
  }
  for (int s = 0; s < kShardCount; ++s) {
    shards_[s] = std::make_unique<Shard>(&disk_, s, options);
  }
  FormCluster(shards_);
}

World::~World() = default;

TableConfig World::ConfigOf(int job, Slot slot, Variant variant) {
  if (allowances()->no_refused_memory && slot == kFiltered &&
      variant == Variant::kTooLarge) {
    variant = Variant::kUsual;
  }
  TableConfig config = persia::ConfigOf(job, slot, variant);
  if (allowances()->no_expiry && Expires(config)) {
    config.eviction = Spec{"never", {}};
  }
  return config;
}

void World::Run(const Step& step) {
  Trace(TextOf(step));
  switch (step.action) {
    case Action::kTrain:
      return Train(step, 1);
    case Action::kTrainTwo:
      return Train(step, 2);
    case Action::kRead:
      return Read(step);
    case Action::kCreate:
      return Create(step, Variant::kUsual);
    case Action::kCreateOdd:
      return Create(step, step.c % 4 == 0   ? Variant::kInvalid
                          : step.c % 4 == 1 ? Variant::kTooLarge
                                            : Variant::kOther);
    case Action::kAssign:
      return Assign(step);
    case Action::kRemove:
      return Remove(step);
    case Action::kDrop:
      return DropTable(step);
    case Action::kRepeatDrop:
      return RepeatDrop(step);
    case Action::kResend:
      return Resend(step);
    case Action::kSave:
      return Save(step);
    case Action::kEndSave:
      return EndSave();
    case Action::kRestore:
      return Restore(step);
    case Action::kRemoveCheckpoint:
      return RemoveCheckpoint(step);
    case Action::kBase:
      return Base(step);
    case Action::kEndBase:
      return EndBase(shard(step.a % kShardCount));
    case Action::kKill: {
      Shard* const killed = shard(step.a % kShardCount);
      killed->Kill(step.b % 2 == 0, {killed->model});
      return AfterEnd(killed);
    }
    case Action::kRestart: {
      Shard* const restarted = shard(step.a % kShardCount);
      restarted->Restart();
      return AfterEnd(restarted);
    }
    case Action::kCrash:
      loses_power_ = step.c % 2 == 0;
      return shard(step.a % kShardCount)
          ->files()
          ->DieAfter(step.b % 24, step.c);
    case Action::kCheck:
      for (auto& each : shards_) {
        if (!Died(each.get())) each->Check();
      }
      return;
  }
}

void World::End() {
  Trace("the end");
  EndSave();
  for (auto& each : shards_) {
    each->Check();
    each->Kill(/*loses_power=*/true, {each->model});
  }
}

bool World::Died(Shard* shard, const std::vector<Change>& changes,
                 size_t* made) {
  if (!shard->files()->dead()) return false;
  Trace(Concat("  shard ", shard->number(), " dies"));
  std::vector<ShardModel> possible = {shard->model};
  for (const Change& change : changes) {
    possible.push_back(possible.back());
    change(&possible.back());
  }
  const size_t chosen = shard->Kill(loses_power_, possible);
  if (made != nullptr) *made = chosen;
  AfterEnd(shard);
  return true;
}

void World::AfterEnd(Shard* ended) {
  ++ends_[ended->number()];
  base_is_held_[ended->number()] = false;
  // The count of bases begins again.
  needs_[ended->number()].bases = 0;
  if (pending_.job != nullptr) pending_.is_intact = false;
}

TableModel* World::FindTable(Shard* shard, const std::string& name) {
  const auto found = shard->model.tables.find(name);
  return found == shard->model.tables.end() ? nullptr : &found->second;
}

}  // namespace persia
