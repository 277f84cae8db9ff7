// ReadChain: checks that the files of a restore form a chain for each shard. A
// chain is a whole save followed by the increments that build on it.

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

// Reads the headers of the files at `paths`. For each shard, `paths` must name
// the files of its chain from oldest to newest, ending with the file of save
// `save_id`. Returns kDataLoss, naming a file, if that file belongs to another
// save, or if it is an increment and the file that it builds on is missing or
// holds other slots. Waits for the storage device, without a time limit.
Result<std::vector<ChainFile>> ReadChain(FileSystem* files,
                                         const std::vector<std::string>& paths,
                                         uint64_t save_id);

// Returns kDataLoss, naming files and slots, unless the files of save `save_id`
// hold each slot once.
Status CheckHasAllSlots(const std::vector<ChainFile>& chain, uint64_t save_id);

// For each shard's id and each table, the table's time in the shard's newest
// file, if that file is an increment. A row of an older file that no later file
// replaces has aged up to this time.
using NewestTimes = std::map<std::pair<uint64_t, TableKey>, uint32_t>;

// Reads the table times from the files of save `save_id` that are increments.
// Waits for the storage device.
Result<NewestTimes> ReadNewestTimes(FileSystem* files,
                                    const std::vector<ChainFile>& chain,
                                    uint64_t save_id,
                                    const ShardProgress& progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_CHAIN_H_
