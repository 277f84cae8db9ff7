// Compaction: makes one whole file of a shard's chain of files.

#ifndef PERSIA_CC_CHECKPOINT_COMPACTOR_H_
#define PERSIA_CC_CHECKPOINT_COMPACTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/file_system.h"

namespace persia {

struct CompactOptions {
  // Ids of increments that are held in memory at once, in some 20 bytes each.
  // If there are more, the chain is read several times.
  size_t max_ids = size_t{1} << 23;
};

// Writes to `out` what the files at `paths` come to, those of one shard: see
// ReadChain. It has the save's own id, so whatever builds on that save may
// build on it. Holds no rows in memory but those of a block. Blocks for as long
// as the device takes. After an error there is no file at `out`.
Status CompactShard(FileSystem* files, const std::vector<std::string>& paths,
                    uint64_t save_id, const std::string& out,
                    const CompactOptions& options, ShardProgress* progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_COMPACTOR_H_
