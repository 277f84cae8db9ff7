#include "tests/fuzz/service/model.h"

#include <set>

#include "cc/base/hash.h"
#include "cc/optimizer/undecided.h"
#include "tests/fuzz/service/shard.h"

namespace persia {
namespace {

std::string TextOf(const ModelRow& row) {
  std::string text;
  for (const float weight : row.weights) text += Concat(" ", weight);
  text += " |";
  for (const float number : row.state) text += Concat(" ", number);
  return text;
}

std::string RowDifference(const std::string& table, const ModelRows& found,
                          const ModelRows& wanted, bool may_lack) {
  for (const auto& [id, row] : wanted) {
    const auto at = found.find(id);
    if (at == found.end() && may_lack) continue;
    if (at == found.end()) {
      return Concat("table ", table, " lost row ", id, " of ", wanted.size(),
                    " (", found.size(), " are there)");
    }
    if (!(at->second == row)) {
      return Concat("row ", id, " of table ", table, " is", TextOf(at->second),
                    " instead of", TextOf(row));
    }
  }
  for (const auto& [id, row] : found) {
    if (wanted.count(id) > 0) continue;
    return Concat("table ", table, " has row ", id, ":", TextOf(row),
                  ", which left or never was");
  }
  return "";
}

std::string TableDifference(const TableModel& found, const TableModel& wanted,
                            bool may_lack) {
  const std::string& name = wanted.config.name;
  if (wanted.identity != 0 && found.identity != wanted.identity) {
    return Concat("table ", name, " has identity ", found.identity,
                  " instead of ", wanted.identity);
  }
  // The settings of a table that was made just before are not known.
  const bool is_known = found.config.dim > 0;
  if (is_known && !(found.config.optimizer == wanted.config.optimizer)) {
    return Concat("table ", name, " has optimizer ",
                  found.config.optimizer.ToString(), " instead of ",
                  wanted.config.optimizer.ToString());
  }
  return RowDifference(name, found.rows, wanted.rows, may_lack);
}

std::string ShardDifference(const ShardModel& found, const ShardModel& wanted,
                            bool selective_may_lack) {
  if (found.generation != wanted.generation) {
    return Concat("the generation is ", found.generation, " instead of ",
                  wanted.generation);
  }
  for (const auto& [name, table] : wanted.tables) {
    const auto at = found.tables.find(name);
    if (at == found.tables.end()) return Concat("table ", name, " is gone");
    const bool may_lack = selective_may_lack && IsSelective(table.config);
    const std::string difference = TableDifference(at->second, table, may_lack);
    if (!difference.empty()) return difference;
  }
  for (const auto& [name, table] : found.tables) {
    if (wanted.tables.count(name) > 0) continue;
    return Concat("there is a table ", name, ", which was refused or dropped");
  }
  return "";
}

}  // namespace

bool HasSameSettings(TableConfig a, TableConfig b) {
  if (IsUndecided(a.optimizer)) a.optimizer = b.optimizer;
  if (IsUndecided(b.optimizer)) b.optimizer = a.optimizer;
  return a.Describe() == b.Describe();
}

ShardModel Restored(const ShardModel& shard, const CheckpointModel& checkpoint,
                    int number, uint64_t generation) {
  ShardModel after = shard;
  after.generation = generation;
  std::set<std::string> begun;
  for (const ShardModel& part : checkpoint.parts) {
    for (const auto& [name, saved] : part.tables) {
      TableModel& table = after.tables[name];
      if (begun.insert(name).second) {
        if (shard.tables.count(name) == 0) table.config = saved.config;
        if (IsUndecided(table.config.optimizer)) {
          table.config.optimizer = saved.config.optimizer;
        }
        table.identity = 0;
        table.rows.clear();
        table.used.clear();
      }
      const TableConfig& config = table.config;
      const bool keeps_state = config.optimizer == saved.config.optimizer;
      for (const auto& [id, row] : saved.rows) {
        if (!Owns(number, id)) continue;
        ModelRow& restored = table.rows[id] = row;
        if (!keeps_state) restored.state = InitialState(config);
      }
    }
  }
  return after;
}

std::string FindDifference(const ShardModel& found,
                           const std::vector<ShardModel>& possible,
                           size_t* chosen) {
  std::string first;
  for (size_t i = 0; i < possible.size(); ++i) {
    const std::string difference =
        ShardDifference(found, possible[i], possible.size() > 1);
    *chosen = i;
    if (difference.empty()) return "";
    if (first.empty()) first = difference;
  }
  return first;
}

}  // namespace persia
