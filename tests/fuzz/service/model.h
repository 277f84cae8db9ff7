// What a shard, or a checkpoint, must have, in plain maps.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_MODEL_H_
#define PERSIA_TESTS_FUZZ_SERVICE_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/service/tables.h"

namespace persia {

struct TableModel {
  TableConfig config;
  uint64_t identity = 0;  // 0 if it is not known.
  ModelRows rows;
  // For a table whose rows expire: the number of lookups so far, and at which
  // of them each row was used last. If a row is not in `used`, its last use is
  // unknown.
  uint32_t time = 0;
  std::map<int64_t, uint32_t> used;
};

struct ShardModel {
  uint64_t generation = 0;
  std::map<std::string, TableModel> tables;  // By name.
};

struct CheckpointModel {
  uint64_t id = 0;
  uint64_t parent = 0;
  uint32_t shard_count = 1;
  std::string folder;
  std::vector<std::string> files;  // The paths that a restore needs.
  std::vector<ShardModel> parts;   // What each shard's file must have.
  bool is_whole = false;           // All files were written completely.
};

// Whether two tables have the same place in the same number of shards, and so
// rows of the same ids.
inline bool HasSameView(const TableConfig& a, const TableConfig& b) {
  return a.shard_index == b.shard_index && a.shard_count == b.shard_count;
}

// Whether two tables of one name have the same settings, apart from their place
// in a list of shards. An undecided optimizer equals any other.
bool HasSameSettings(TableConfig a, TableConfig b);

// Whether the shard has a table with another place than `index` of `count`: it
// then refuses tables with this place.
bool IsSeenOtherwise(const ShardModel& shard, uint32_t index, uint32_t count);

// Returns what `shard` has after shard `index` of `count` restored
// `checkpoint`.
ShardModel Restored(const ShardModel& shard, const CheckpointModel& checkpoint,
                    uint32_t index, uint32_t count, uint64_t generation);

// Describes how `found` differs from the first of `possible`; if it is one of
// them, sets `*chosen` and returns "". If there are several, a table that
// evicts or admits may lack rows, because some may just have left.
std::string FindDifference(const ShardModel& found,
                           const std::vector<ShardModel>& possible,
                           size_t* chosen);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_MODEL_H_
