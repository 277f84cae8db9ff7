// What must be there: of a shard, and of a checkpoint, in plain maps.

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
  uint64_t identity = 0;  // 0: not known.
  ModelRows rows;
  // Of a table whose rows expire: lookups so far, and those of each row. A row
  // that is not among them was used nobody knows when.
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
  std::vector<std::string> files;  // Paths that restore it.
  std::vector<ShardModel> parts;   // What each shard's file has.
  bool is_whole = false;           // All files were written to their end.
};

// Which rows a table has, and of which list of shards it is a part.
inline bool HasSameView(const TableConfig& a, const TableConfig& b) {
  return a.shard_index == b.shard_index && a.shard_count == b.shard_count;
}

// Of two tables of one name: whether all settings are the same, but for their
// part of a list of shards. An optimizer that is undecided is no other.
bool HasSameSettings(TableConfig a, TableConfig b);

// Whether a table of it is part of another list of shards: such are refused.
bool IsSeenOtherwise(const ShardModel& shard, uint32_t index, uint32_t count);

// What a restore of `checkpoint` by shard `index` of `count` makes of `shard`.
ShardModel Restored(const ShardModel& shard, const CheckpointModel& checkpoint,
                    uint32_t index, uint32_t count, uint64_t generation);

// How `found` differs from the first of `possible`, in a sentence; empty, with
// `*chosen`, if it is one of them. Where there are several, a selective table
// may lack rows: some may just have left.
std::string FindDifference(const ShardModel& found,
                           const std::vector<ShardModel>& possible,
                           size_t* chosen);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_MODEL_H_
