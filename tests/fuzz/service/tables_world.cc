// Steps that create, drop and clear tables, and that set and remove rows.

#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"
#include "tests/fuzz/service/world.h"

namespace persia {
namespace {

// The table's settings after it was opened with `asked`.
TableConfig SettingsAfter(const TableConfig& held, const TableConfig& asked,
                          bool replaces) {
  TableConfig after = held;
  if (!IsUndecided(asked.optimizer) &&
      (replaces || IsUndecided(held.optimizer))) {
    after.optimizer = asked.optimizer;
  }
  return after;
}

// Makes the table, or gives it the optimizer of `asked`.
void Make(const TableConfig& asked, bool replaces, ShardModel* shard) {
  const auto [at, is_new] = shard->tables.emplace(asked.name, TableModel());
  TableModel* const table = &at->second;
  if (is_new) {
    table->config = asked;
    return;
  }
  const TableConfig after = SettingsAfter(table->config, asked, replaces);
  if (after.optimizer == table->config.optimizer) return;
  table->config = after;
  for (auto& [id, row] : table->rows) row.state = InitialState(after);
}

bool MustBeRefused(const TableModel* held, size_t tables,
                   const TableConfig& asked, bool replaces) {
  if (asked.optimizer.name == "no_such_rule") return true;
  if (held == nullptr) {
    return tables >= kMostTables ||
           asked.admission.Get("expected_ids", 0) > 1e6;
  }
  return !HasSameSettings(SettingsAfter(held->config, asked, replaces), asked);
}

}  // namespace

void World::Create(const Step& step, Variant variant) {
  Job* const job = JobOf(step.a);
  const auto slot = static_cast<Slot>(step.b % kSlotCount);
  TableConfig config = ConfigOf(job->number, slot, variant);
  if (slot == kLate) {
    // A change of the optimizer waits for readers of rows, so end them.
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
       in_steps
           ? std::vector<OpeningStep>{OpeningStep::kFind, OpeningStep::kPrepare,
                                      OpeningStep::kComplete}
           : std::vector<OpeningStep>{OpeningStep::kOpen}) {
    for (const auto& each : shards_) {
      uint64_t identity = 0;
      if (opening == OpeningStep::kComplete) {
        const TableModel* const held = FindTable(each.get(), config.name);
        if (held == nullptr || held->identity == 0) continue;
        identity = held->identity;
      }
      CreateOn(each.get(), config, opening, replaces, &identity);
    }
  }
}

void World::CreateOn(Shard* asked, const TableConfig& config,
                     OpeningStep opening, bool replaces, uint64_t* identity) {
  const TableModel* const held = FindTable(asked, config.name);
  bool must_be_refused =
      MustBeRefused(held, asked->model.tables.size(), config, replaces);
  bool may_be_refused = false;
  const bool makes = opening != OpeningStep::kFind || held != nullptr;
  if (!makes) {
    // The table is not made, so its size need not be checked.
    may_be_refused |= must_be_refused;
    must_be_refused = false;
  }
  CreateTableRequest request;
  request.config = config;
  request.replaces_optimizer = replaces;
  request.step = opening;
  request.identity = *identity;
  const Status status = asked->Call(&EmbeddingService::CreateTable, &request);
  Trace(Concat("  table ", config.name, ", shard ", asked->number(), ", step ",
               static_cast<int>(opening),
               status.ok() ? ": ok" : ": refused, " + status.message()));
  std::vector<Change> changes;
  if (makes && !must_be_refused) {
    changes.emplace_back(
        [&](ShardModel* model) { Make(config, replaces, model); });
  }
  // A shard that died may have answered anything.
  if (Died(asked, changes)) return;
  if (!status.ok()) {
    Require(must_be_refused || may_be_refused, "table ", config.name,
            " is made on shard ", asked->number(), ": ", status.message());
    return;
  }
  Require(!must_be_refused, "table ", config.name, " is refused by shard ",
          asked->number());
  for (const Change& change : changes) change(&asked->model);
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
  drop.table = ConfigOf(job->number, static_cast<Slot>(step.b % kSlotCount),
                        Variant::kUsual)
                   .name;
  drop.stays = step.c % 2 != 0;
  for (int s = 0; s < kShardCount; ++s) drop.ends[s] = ends_[s];
  drops_.push_back(drop);
  pending_.saw_drop = true;
  for (const auto& each : shards_) {
    Shard* const asked = each.get();
    const Change change = [&](ShardModel* model) {
      const auto table = model->tables.find(drop.table);
      if (table == model->tables.end()) return;
      if (!drop.stays) {
        model->tables.erase(table);
        return;
      }
      table->second.rows.clear();
      table->second.used.clear();
      table->second.time = 0;
    };
    DropTableRequest request;
    request.table = HashName(drop.table);
    request.stays = drop.stays;
    request.drop_id = drop.id;
    const Status status = asked->Call(&EmbeddingService::DropTable, &request);
    if (Died(asked, {change})) continue;
    Require(status.ok(), "a table is dropped: ", status.message());
    change(&asked->model);
  }
}

void World::RepeatDrop(const Step& step) {
  if (drops_.empty()) return;
  const Drop& drop = drops_[drops_.size() - 1 - step.b % drops_.size()];
  for (int s = 0; s < kShardCount; ++s) {
    if (allowances()->repeats_no_drop_after_an_end &&
        drop.ends[s] != ends_[s]) {
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
      ConfigOf(job->number, static_cast<Slot>(step.b % kSlotCount),
               Variant::kUsual)
          .name;
  const Ids all = IdsOf(step, 5);
  for (const auto& each : shards_) {
    Shard* const asked = each.get();
    const TableModel* const held = FindTable(asked, name);
    if (held == nullptr) continue;
    const TableConfig config = held->config;
    const Ids ids = OwnIds(all, *asked);
    if (ids.empty()) continue;
    ModelRows assigned;
    std::vector<float> weights;
    std::vector<float> state;
    for (const int64_t id : ids) {
      ModelRow row = InitialRow(config, id);
      for (float& weight : row.weights) {
        weight = static_cast<float>(step.c % 32) / 8 - 2;
        weights.push_back(weight);
      }
      for (float& number : row.state) {
        if (step.b >= 128) number = 1.5f;
        state.push_back(number);
      }
      assigned[id] = std::move(row);
    }
    const Change makes = [&](ShardModel* model) {
      for (const int64_t id : ids) {
        model->tables[name].rows.emplace(id, InitialRow(config, id));
      }
    };
    const Change sets = [&](ShardModel* model) {
      for (const auto& [id, row] : assigned) {
        model->tables[name].rows[id] = row;
        model->tables[name].used.erase(id);
      }
    };
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
    if (Died(asked, {makes, sets})) continue;
    Require(status.ok(), "rows are assigned: ", status.message());
    sets(&asked->model);
    if (IsSelective(config)) Learn(asked, name, ids);
  }
}

void World::Remove(const Step& step) {
  Job* const job = JobOf(step.a);
  const std::string name =
      ConfigOf(job->number, static_cast<Slot>(step.b % kSlotCount),
               Variant::kUsual)
          .name;
  const Ids all = IdsOf(step, 4);
  for (const auto& each : shards_) {
    Shard* const asked = each.get();
    if (FindTable(asked, name) == nullptr) continue;
    const Ids ids = OwnIds(all, *asked);
    uint64_t removed = 0;
    const Change change = [&](ShardModel* model) {
      removed = 0;
      for (const int64_t id : ids) {
        removed += model->tables[name].rows.erase(id);
      }
    };
    RemoveRequest request;
    request.table = HashName(name);
    request.ids = ids;
    const Status status = asked->Call(&EmbeddingService::Remove, &request);
    if (Died(asked, {change})) continue;
    Require(status.ok(), "rows are removed: ", status.message());
    change(&asked->model);
    // An expired row may still be there, and is then removed too.
    Require(
        request.removed == removed || Expires(asked->model.tables[name].config),
        removed, " rows are removed, not ", request.removed);
  }
}

}  // namespace persia
