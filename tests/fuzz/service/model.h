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
  std::string folder;
  std::vector<std::string> files;  // The paths that a restore needs.
  std::vector<ShardModel> parts;   // What each shard's file must have.
  bool is_whole = false;           // All files were written completely.
};

// Whether two tables of one name have the same settings. An undecided optimizer
// equals any other.
bool HasSameSettings(TableConfig a, TableConfig b);

// Returns what the shard with this number, which has `shard`, has after it
// restored `checkpoint`.
ShardModel Restored(const ShardModel& shard, const CheckpointModel& checkpoint,
                    int number, uint64_t generation);

// Describes how `found` differs from the first of `possible`; if it is one of
// them, sets `*chosen` and returns "". If there are several, a table that
// evicts or admits may lack rows, because some may just have left.
std::string FindDifference(const ShardModel& found,
                           const std::vector<ShardModel>& possible,
                           size_t* chosen);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_MODEL_H_
