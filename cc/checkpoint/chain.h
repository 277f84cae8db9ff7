// Chains: a save and those that it is an increment of, down to a whole one.

#ifndef PERSIA_CC_CHECKPOINT_CHAIN_H_
#define PERSIA_CC_CHECKPOINT_CHAIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/file_system.h"
#include "cc/store/table_config.h"

namespace persia {

struct ChainFile {
  std::string path;
  ShardHeader header;
};

// Reads the headers of the files at `paths`: of each shard, its file of save
// `save_id` last, and before it those that it builds on. Blocks for as long as
// the device takes. kDataLoss, naming a file, if one is of another save, or the
// whole one at a chain's beginning is missing.
Result<std::vector<ChainFile>> ReadChain(FileSystem* files,
                                         const std::vector<std::string>& paths,
                                         uint64_t save_id);

// kDataLoss unless the files are of all shards of a checkpoint.
Status CheckAllShards(const std::vector<ChainFile>& chain);

// When the rows of each shard's tables were as the newest file has them, of
// tables that the files have only changes of: rows that did not change have
// grown as old as that.
using NewestTimes = std::map<std::pair<uint32_t, TableKey>, uint32_t>;

// Reads the newest files, if they are increments. Blocks.
Result<NewestTimes> ReadNewestTimes(FileSystem* files,
                                    const std::vector<ChainFile>& chain,
                                    uint64_t save_id,
                                    const ShardProgress& progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_CHAIN_H_
