// Chains: a save and those that it is an increment of, back to a whole one.

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

// Reads the headers of the files at `paths`, which must hold, for each shard,
// its chain: oldest file first, the file of save `save_id` last. Blocks for as
// long as the device takes. kDataLoss, naming a file, if one belongs to another
// save, or the whole file at a chain's start is missing.
Result<std::vector<ChainFile>> ReadChain(FileSystem* files,
                                         const std::vector<std::string>& paths,
                                         uint64_t save_id);

// kDataLoss unless the files cover all shards of a checkpoint.
Status CheckAllShards(const std::vector<ChainFile>& chain);

// The times of each shard's tables in the newest files, if these are
// increments. Older files' rows that did not change have aged to these times.
using NewestTimes = std::map<std::pair<uint32_t, TableKey>, uint32_t>;

// Reads the newest files that are increments. Blocks.
Result<NewestTimes> ReadNewestTimes(FileSystem* files,
                                    const std::vector<ChainFile>& chain,
                                    uint64_t save_id,
                                    const ShardProgress& progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_CHAIN_H_
