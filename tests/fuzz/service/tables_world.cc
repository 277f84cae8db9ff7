// What becomes of whole tables, and of rows that are set.

#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"
#include "tests/fuzz/service/world.h"

namespace persia {
namespace {

bool IsSeenOtherwise(const ShardModel& shard, const TableConfig& config) {
  for (const auto& [name, table] : shard.tables) {
    if (!HasSameView(table.config, config)) return true;
  }
  return false;
}

// What a CreateTable makes of a shard, unless it must be refused.
struct Made {
  bool is_refused = false;
  bool may_be_refused = false;
  ShardModel after;
};

Made Make(const ShardModel& shard, const TableConfig& config, bool replaces,
          bool is_valid) {
  Made made{!is_valid, false, shard};
  if (!is_valid) return made;
  const auto held = made.after.tables.find(config.name);
  if (held == made.after.tables.end()) {
    made.is_refused = shard.tables.size() >= kMostTables ||
                      config.admission.Get("expected_ids", 0) > 1e6;
    made.may_be_refused = IsSeenOtherwise(shard, config);
    made.after.tables[config.name].config = config;
    return made;
  }
  TableModel* const table = &held->second;
  TableConfig like_asked = table->config;
  if (!(config.optimizer == like_asked.optimizer) &&
      !IsUndecided(config.optimizer) &&
      (replaces || IsUndecided(like_asked.optimizer))) {
    like_asked.optimizer = config.optimizer;
  }
  made.is_refused = !HasSameView(like_asked, config) ||
                    !HasSameSettings(like_asked, config);
  // Two views of the shard may have come to be.
  made.may_be_refused = IsSeenOtherwise(shard, config);
  if (made.is_refused) return made;
  if (!(like_asked.optimizer == table->config.optimizer)) {
    table->config = like_asked;
    for (auto& [id, row] : table->rows) row.state = InitialState(like_asked);
  }
  return made;
}

}  // namespace

void World::Create(const Step& step, Variant variant) {
  Job* const job = JobOf(step.a);
  const auto slot = static_cast<Slot>(step.b % kSlots);
  TableConfig config = ConfigOf(job->number, slot, variant);
  if (slot == kLate) {
    // Who changes an optimizer waits for what reads rows.
    EndSave();
    for (auto& each : shards_) EndBase(each.get());
  }
  bool replaces = false;
  if (variant == Variant::kOther && slot == kLate && step.c % 8 >= 4) {
    config.optimizer = *Spec::Parse("adagrad");
    replaces = true;
  }
  const bool in_steps = step.c / 16 % 2 != 0;
  for (const auto opening :
       in_steps ? std::vector<OpeningStep>{OpeningStep::kFind,
                                           OpeningStep::kPrepare,
                                           OpeningStep::kComplete}
                : std::vector<OpeningStep>{OpeningStep::kOpen}) {
    for (size_t place = 0; place < job->shards.size(); ++place) {
      uint64_t identity = 0;
      if (opening == OpeningStep::kComplete) {
        const TableModel* const held =
            FindTable(shard(job->shards[place]), config.name);
        if (held == nullptr || held->identity == 0) continue;
        identity = held->identity;
      }
      CreateOn(job, place, config, opening, replaces, &identity);
    }
  }
}

void World::CreateOn(Job* job, size_t place, TableConfig config,
                     OpeningStep opening, bool replaces, uint64_t* identity) {
  Shard* const asked = shard(job->shards[place]);
  config.shard_index = static_cast<uint32_t>(place);
  config.shard_count = static_cast<uint32_t>(job->shards.size());
  const bool is_valid = config.optimizer.name != "no_such_rule";
  Made made = Make(asked->model, config, replaces, is_valid);
  const bool is_held = FindTable(asked, config.name) != nullptr;
  if (opening == OpeningStep::kFind && !is_held) {
    // It makes nothing, and need not see how large it would be.
    made.may_be_refused |= made.is_refused;
    made.is_refused = false;
    made.after = asked->model;
  }
  CreateTableRequest request;
  request.config = config;
  request.replaces_optimizer = replaces;
  request.step = opening;
  request.identity = *identity;
  const Status status = asked->Call(&EmbeddingService::CreateTable, &request);
  Trace(Concat("  table ", config.name, ", shard ", asked->number(), " as ",
               config.shard_index, " of ", config.shard_count,
               ", step ", static_cast<int>(opening),
               status.ok() ? ": ok" : ": refused, " + status.message()));
  // Who died may have said anything.
  if (Died(asked, {asked->model, made.after})) return;
  if (!status.ok()) {
    Require(made.is_refused || made.may_be_refused, "table ", config.name,
            " is made on shard ", asked->number(), ": ", status.message());
    return;
  }
  Require(!made.is_refused, "table ", config.name, " is refused by shard ",
          asked->number());
  asked->model = std::move(made.after);
  TableModel* const table = FindTable(asked, config.name);
  if (table == nullptr) return;
  Require(table->identity == 0 || table->identity == request.identity,
          "an identity stays");
  Require(request.generation == asked->model.generation,
          "the generation is told");
  table->identity = request.identity;
}

void World::DropTable(const Step& step) {
  Job* const job = JobOf(step.a);
  Drop drop;
  drop.id = ++last_number_;
  drop.table =
      ConfigOf(job->number, static_cast<Slot>(step.b % kSlots), Variant::kUsual)
          .name;
  drop.stays = step.c % 2 != 0;
  for (int s = 0; s < kShardCount; ++s) drop.ends[s] = ends_[s];
  drops_.push_back(drop);
  pending_.saw_drop = true;
  for (const int number : job->shards) {
    Shard* const asked = shard(number);
    ShardModel after = asked->model;
    const auto table = after.tables.find(drop.table);
    if (table != after.tables.end() && drop.stays) {
      table->second.rows.clear();
      table->second.used.clear();
      table->second.time = 0;
    } else if (table != after.tables.end()) {
      after.tables.erase(table);
    }
    DropTableRequest request;
    request.table = HashName(drop.table);
    request.stays = drop.stays;
    request.drop_id = drop.id;
    const Status status = asked->Call(&EmbeddingService::DropTable, &request);
    if (Died(asked, {asked->model, after})) continue;
    Require(status.ok(), "a table is dropped: ", status.message());
    asked->model = std::move(after);
  }
}

void World::RepeatDrop(const Step& step) {
  if (drops_.empty()) return;
  const Drop& drop = drops_[drops_.size() - 1 - step.b % drops_.size()];
  for (int s = 0; s < kShardCount; ++s) {
    bool was_sent = false;
    for (const Job& job : jobs_) {
      if (drop.table.compare(0, 4, Concat("job", job.number)) != 0) continue;
      for (const int number : job.shards) was_sent |= number == s;
    }
    if (!was_sent) continue;
    if (allowances()->repeats_no_drop_after_an_end && drop.ends[s] != ends_[s]) {
      continue;
    }
    Shard* const asked = shard(s);
    DropTableRequest request;
    request.table = HashName(drop.table);
    request.stays = drop.stays;
    request.drop_id = drop.id;
    const Status status = asked->Call(&EmbeddingService::DropTable, &request);
    if (Died(asked)) continue;
    Require(status.ok(), "a repeated drop is taken: ", status.message());
    asked->Check();
  }
}

void World::Assign(const Step& step) {
  Job* const job = JobOf(step.a);
  const std::string name =
      ConfigOf(job->number, static_cast<Slot>(step.b % kSlots), Variant::kUsual)
          .name;
  const Ids all = IdsOf(step, 5);
  for (size_t place = 0; place < job->shards.size(); ++place) {
    Shard* const asked = shard(job->shards[place]);
    const TableModel* const held = FindTable(asked, name);
    if (held == nullptr) continue;
    const TableConfig config = held->config;
    const Ids ids = OwnIds(all, config.shard_index, config.shard_count);
    if (ids.empty()) continue;
    ShardModel made = asked->model;
    ShardModel after = asked->model;
    std::vector<float> weights;
    std::vector<float> state;
    for (size_t i = 0; i < ids.size(); ++i) {
      ModelRow row = InitialRow(config, ids[i]);
      made.tables[name].rows.emplace(ids[i], row);
      for (float& weight : row.weights) {
        weight = static_cast<float>(step.c % 32) / 8 - 2;
        weights.push_back(weight);
      }
      for (float& number : row.state) {
        if (step.b >= 128) number = 1.5f;
        state.push_back(number);
      }
      TableModel* const table = &after.tables[name];
      table->rows[ids[i]] = row;
      table->used.erase(ids[i]);
    }
    AssignRequest request;
    request.table = HashName(name);
    request.dim = config.dim;
    request.ids = ids;
    request.weights = weights;
    if (step.b >= 128 && !state.empty()) {
      request.state_size = config.dim;
      request.state = state;
    }
    const Status status = asked->Call(&EmbeddingService::Assign, &request);
    if (Died(asked, {asked->model, made, after})) continue;
    Require(status.ok(), "rows are assigned: ", status.message());
    asked->model = std::move(after);
    if (IsSelective(config)) Learn(asked, name, ids);
  }
}

void World::Remove(const Step& step) {
  Job* const job = JobOf(step.a);
  const std::string name =
      ConfigOf(job->number, static_cast<Slot>(step.b % kSlots), Variant::kUsual)
          .name;
  const Ids all = IdsOf(step, 4);
  for (size_t place = 0; place < job->shards.size(); ++place) {
    Shard* const asked = shard(job->shards[place]);
    if (FindTable(asked, name) == nullptr) continue;
    const Ids ids = OwnIds(all, static_cast<uint32_t>(place),
                           static_cast<uint32_t>(job->shards.size()));
    ShardModel after = asked->model;
    TableModel* const table = &after.tables[name];
    uint64_t removed = 0;
    for (const int64_t id : ids) removed += table->rows.erase(id);
    RemoveRequest request;
    request.table = HashName(name);
    request.ids = ids;
    const Status status = asked->Call(&EmbeddingService::Remove, &request);
    if (Died(asked, {asked->model, after})) continue;
    Require(status.ok(), "rows are removed: ", status.message());
    // One that has expired may still take room.
    Require(request.removed == removed || Expires(table->config), removed,
            " rows are removed, not ", request.removed);
    asked->model = std::move(after);
  }
}

}  // namespace persia
