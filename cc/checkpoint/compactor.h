// CompactShard: merges a shard's chain of checkpoint files into one whole file.

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
  // How many ids of the increments may be in memory at once, at about 20 bytes
  // each. If there are more ids, the chain is read several times.
  size_t max_ids = size_t{1} << 23;
};

// Merges the files at `paths`, a chain of one shard (see ReadChain), and writes
// to `out` a whole file that loads the same rows. The new file has the save id
// of the chain's newest file, so increments of that save remain valid. Only one
// block of rows is in memory at a time. Waits for the storage device, without a
// time limit. If an error occurs, the file at `out` is removed.
Status CompactShard(FileSystem* files, const std::vector<std::string>& paths,
                    uint64_t save_id, const std::string& out,
                    const CompactOptions& options, ShardProgress* progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_COMPACTOR_H_
