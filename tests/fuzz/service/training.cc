// Lookups and updates of rows.

#include <algorithm>
#include <cmath>
#include <utility>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"
#include "tests/fuzz/service/world.h"

namespace persia {
namespace {

constexpr int64_t kIds = 50;

std::string TextOf(const std::vector<float>& weights) {
  std::string text;
  for (const float weight : weights) text += Concat(" ", weight);
  return text;
}

// Multiples of 1/16, with a sign that moves weights towards 0: so rows stay
// small, and float16 holds them exactly.
std::vector<float> GradientOf(const Step& step, int64_t id,
                              const ModelRow& row) {
  std::vector<float> gradient;
  for (size_t d = 0; d < row.weights.size(); ++d) {
    const uint64_t draw =
        Mix64(static_cast<uint64_t>(id) ^ Mix64(step.c + 256u * d));
    const float size = static_cast<float>(1 + draw % 16) / 16;
    gradient.push_back(row.weights[d] >= 0 ? size : -size);
  }
  return gradient;
}

}  // namespace

World::Ids World::IdsOf(const Step& step, size_t most) {
  constexpr int64_t kStrides[] = {1, 3, 7, 9};
  const int64_t stride = kStrides[step.b / 8 % 4];
  const size_t count = 1 + step.c / 8 % most;
  int64_t id = (step.a / 2 + step.b / 32 * 11) % kIds;
  Ids ids;
  for (size_t i = 0; i < count; ++i) {
    // Some ids are large and negative.
    ids.push_back(id < 40 ? id : -id * 1000000007);
    id = (id + stride) % kIds;
  }
  return ids;
}

World::Ids World::OwnIds(const Ids& ids, const Shard& shard) {
  Ids own;
  for (const int64_t id : ids) {
    if (Owns(shard.number(), id)) own.push_back(id);
  }
  return own;
}

void World::Train(const Step& step, int tables) {
  Job* const job = JobOf(step.a);
  std::vector<Slot> slots;
  for (int t = 0; t < tables; ++t) {
    slots.push_back(static_cast<Slot>((step.b + t) % kSlotCount));
  }
  ++job->sequence;
  for (const auto& each : shards_) TrainOn(job, each.get(), slots, step);
}

void World::TrainOn(Job* job, Shard* asked, const std::vector<Slot>& slots,
                    const Step& step) {
  const Ids ids = OwnIds(IdsOf(step, 6), *asked);
  if (ids.empty()) return;
  std::vector<std::string> names;
  for (const Slot slot : slots) {
    const std::string name = ConfigOf(job->number, slot, Variant::kUsual).name;
    if (FindTable(asked, name) != nullptr) names.push_back(name);
  }
  if (names.empty()) return;

  LookupRequest lookup;
  std::vector<std::vector<float>> rows(names.size());
  std::vector<Change> changes;
  for (size_t t = 0; t < names.size(); ++t) {
    const uint32_t dim = FindTable(asked, names[t])->config.dim;
    rows[t].resize(ids.size() * dim);
    TableIds of;
    of.table = HashName(names[t]);
    of.dim = dim;
    of.ids = ids;
    lookup.tables.push_back({of, rows[t]});
    changes.emplace_back([&ids, name = names[t]](ShardModel* model) {
      TableModel* const table = &model->tables[name];
      for (const int64_t id : ids) {
        if (table->rows.count(id) > 0) continue;
        table->rows[id] = InitialRow(table->config, id);
      }
    });
  }
  const Status looked = asked->Call(&EmbeddingService::Lookup, &lookup);
  if (Died(asked, changes)) return;
  Require(looked.ok(), "rows are looked up: ", looked.message());
  Require(lookup.generation == asked->model.generation,
          "a lookup tells generation ", asked->model.generation, ", not ",
          lookup.generation);
  const ShardModel before = asked->model;
  for (size_t t = 0; t < names.size(); ++t) {
    TableModel* const table = FindTable(asked, names[t]);
    const uint32_t dim = table->config.dim;
    const bool is_selective = IsSelective(table->config);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto at = rows[t].begin() + static_cast<ptrdiff_t>(i * dim);
      const std::vector<float> got(at, at + dim);
      auto row = table->rows.find(ids[i]);
      ModelRow made;
      if (row == table->rows.end()) {
        made = InitialRow(table->config, ids[i]);
        if (!is_selective) row = table->rows.emplace(ids[i], made).first;
      }
      const std::vector<float>& wanted =
          row == table->rows.end() ? made.weights : row->second.weights;
      Require(got == wanted, "row ", ids[i], " of table ", names[t],
              " is looked up as", TextOf(got), " instead of", TextOf(wanted));
    }
    if (!is_selective) continue;
    for (const int64_t id : ids) {
      if (table->rows.count(id) > 0) table->used[id] = table->time;
    }
    const uint32_t now = table->time++;
    Learn(asked, names[t], ids);
    for (const int64_t id : ids) {
      if (table->rows.count(id) > 0) table->used[id] = now;
    }
  }
  // If the shard died before it logged the time at which rows expired, these
  // rows are still there, although an export no longer shows them.
  changes.insert(changes.begin(), [&](ShardModel* model) { *model = before; });
  if (Died(asked, changes)) return;
  if (step.c % 8 == 7) return;  // A lookup without an update.

  Sent sent;
  const bool is_known = step.c % 8 != 6;
  sent.client = is_known ? job->client : 0;
  sent.sequence = job->sequence;
  sent.generation = lookup.generation;
  bool is_refused = false;
  for (const std::string& name : names) {
    const TableModel& table = *FindTable(asked, name);
    is_refused |= IsUndecided(table.config.optimizer);
    Sent::OfTable of{name, table.config.dim, ids, {}};
    for (const int64_t id : ids) {
      const auto row = table.rows.find(id);
      std::vector<float> gradient(of.dim, 1.0f);
      if (row != table.rows.end()) gradient = GradientOf(step, id, row->second);
      if (step.c % 8 == 5 && id == ids[0]) gradient[0] = NAN;
      of.gradients.insert(of.gradients.end(), gradient.begin(), gradient.end());
    }
    sent.tables.push_back(std::move(of));
  }
  UpdateCounts counts;
  const Status updated = SendUpdate(asked, sent, &counts);
  if (is_refused) {
    if (Died(asked)) return;
    Require(updated.code() == Code::kFailedPrecondition,
            "a table without an optimizer is not updated");
    return;
  }
  if (is_known) job->sent[asked->number()] = sent;
  size_t made = 0;
  UpdateCounts wanted;
  const Change change = [&](ShardModel* model) { wanted = Apply(sent, model); };
  if (Died(asked, {change}, &made)) {
    if (!is_known) return;
    // The client sends the update again; it must be applied once.
    Trace(Concat("  it is sent again; it was ", made == 0 ? "not " : "",
                 "applied"));
    if (made == 0) change(&asked->model);
    const Status again = SendUpdate(asked, sent, &counts);
    Require(again.ok(), "an update is taken again: ", again.message());
    asked->Check();
    return;
  }
  Require(updated.ok(), "rows are updated: ", updated.message());
  change(&asked->model);
  Require(counts.applied == wanted.applied &&
              counts.nonfinite == wanted.nonfinite &&
              counts.absent == wanted.absent,
          "an update applies ", wanted.applied, " gradients, not ",
          counts.applied, "; ", counts.absent, " of ", wanted.absent,
          " rows were absent, ", counts.nonfinite, " of ", wanted.nonfinite,
          " gradients not finite");
  if (!is_known || step.c % 8 > 2) return;
  const Status again = SendUpdate(asked, sent, &counts);
  if (Died(asked)) return;
  Require(again.ok() && counts.applied == 0,
          "an update is applied once: ", again.message());
}

UpdateCounts World::Apply(const Sent& sent, ShardModel* model) {
  UpdateCounts counts;
  for (const Sent::OfTable& of : sent.tables) {
    TableModel* const table = &model->tables[of.name];
    for (size_t i = 0; i < of.ids.size(); ++i) {
      const auto at = of.gradients.begin() + static_cast<ptrdiff_t>(i * of.dim);
      const std::vector<float> gradient(at, at + of.dim);
      const bool is_finite =
          std::all_of(gradient.begin(), gradient.end(),
                      [](float number) { return std::isfinite(number); });
      const auto row = table->rows.find(of.ids[i]);
      if (!is_finite) {
        ++counts.nonfinite;
      } else if (row == table->rows.end()) {
        ++counts.absent;
      } else {
        ++counts.applied;
        StepRow(table->config, gradient, &row->second);
      }
    }
  }
  return counts;
}

Status World::SendUpdate(Shard* shard, const Sent& sent, UpdateCounts* counts) {
  UpdateRequest request;
  request.client = sent.client;
  request.sequence = sent.sequence;
  request.generation = sent.generation;
  request.route = shard->route();
  for (const Sent::OfTable& of : sent.tables) {
    TableIds ids;
    ids.table = HashName(of.name);
    ids.dim = of.dim;
    ids.ids = of.ids;
    request.tables.push_back({ids, of.gradients, kRate, 1});
  }
  const Status status = shard->Call(&EmbeddingService::Update, &request);
  *counts = request.counts;
  return status;
}

void World::Resend(const Step& step) {
  const Job& job = *JobOf(step.a);
  Shard* const asked = shard(step.b % kShardCount);
  const Sent& sent = job.sent[asked->number()];
  if (sent.sequence == 0) return;
  bool must_be_known = sent.generation == asked->model.generation;
  for (const Sent::OfTable& of : sent.tables) {
    const TableModel* const table = FindTable(asked, of.name);
    must_be_known &= table != nullptr && !IsUndecided(table->config.optimizer);
  }
  UpdateCounts counts;
  const Status status = SendUpdate(asked, sent, &counts);
  if (Died(asked)) return;
  Require(!must_be_known || status.ok(),
          "an update is recognised: ", status.message());
  Require(!status.ok() || counts.applied == 0, "an update is applied once");
  Require(status.ok() || !must_be_known || counts.applied == 0,
          "a refused update changes nothing");
  asked->Check();
}

void World::Read(const Step& step) {
  const Job& job = *JobOf(step.a);
  const std::string name =
      ConfigOf(job.number, static_cast<Slot>(step.b % kSlotCount),
               Variant::kUsual)
          .name;
  for (const auto& each : shards_) {
    Shard* const asked = each.get();
    const TableModel* const table = FindTable(asked, name);
    const Ids ids = OwnIds(IdsOf(step, 20), *asked);
    const uint32_t dim = table == nullptr ? 2 : table->config.dim;
    std::vector<float> rows(ids.size() * dim);
    LookupRequest request;
    request.read_only = true;
    TableIds of;
    of.table = HashName(name);
    of.dim = dim;
    of.ids = ids;
    request.tables.push_back({of, rows});
    const Status status = asked->Call(&EmbeddingService::Lookup, &request);
    if (table == nullptr) {
      Require(status.code() == Code::kNotFound, "there is no table ", name);
      continue;
    }
    Require(status.ok(), "rows are read: ", status.message());
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto at = rows.begin() + static_cast<ptrdiff_t>(i * dim);
      const std::vector<float> got(at, at + dim);
      const auto row = table->rows.find(ids[i]);
      const std::vector<float> wanted = row == table->rows.end()
                                            ? std::vector<float>(dim, 0.0f)
                                            : row->second.weights;
      Require(got == wanted, "row ", ids[i], " of table ", name, " is read as",
              TextOf(got), " instead of", TextOf(wanted));
    }
  }
}

void World::Learn(Shard* shard, const std::string& name,
                  const Ids& may_be_new) {
  TableModel* const table = FindTable(shard, name);
  ModelRows found = shard->RowsOf(name);
  for (const auto& [id, row] : found) {
    const auto known = table->rows.find(id);
    if (known != table->rows.end()) {
      Require(known->second == row, "row ", id, " of table ", name,
              " is as it was");
      continue;
    }
    Require(std::count(may_be_new.begin(), may_be_new.end(), id) > 0, "row ",
            id, " of table ", name, ", which had left, is not there");
    Require(row == InitialRow(table->config, id), "row ", id, " of table ",
            name, " is new");
  }
  const uint64_t room = std::max<uint64_t>(1, kCappedRows / kShardCount);
  for (const auto& [id, row] : table->rows) {
    if (found.count(id) > 0) continue;
    const auto used = table->used.find(id);
    const bool is_over =
        Expires(table->config) &&
        (used == table->used.end() || table->time - used->second > kTimeToLive);
    const bool is_excess = IsCapped(table->config) && found.size() >= room;
    Require(is_over || is_excess, "row ", id, " of table ", name,
            " stays: it was used ",
            used == table->used.end() ? 0 : table->time - used->second,
            " lookups ago");
    table->used.erase(id);
  }
  if (Expires(table->config)) {
    for (const auto& [id, time] : table->used) {
      Require(found.count(id) == 0 || table->time - time <= kTimeToLive, "row ",
              id, " of table ", name, " has expired");
    }
  }
  Require(!IsCapped(table->config) || found.size() <= room, "table ", name,
          " has ", found.size(), " rows at most ", room);
  table->rows = std::move(found);
}

}  // namespace persia
