// Compaction: merges a shard's chain of files into one whole file.

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
  // The most ids of increments that are held in memory at once, at about 20
  // bytes each. If there are more, the chain is read several times.
  size_t max_ids = size_t{1} << 23;
};

// Writes to `out` the result of loading the files at `paths`, a chain of one
// shard (see ReadChain). `out` has the same save id, so increments of that save
// remain valid with it. Holds only one block of rows in memory. Blocks for as
// long as the device takes. After an error there is no file at `out`.
Status CompactShard(FileSystem* files, const std::vector<std::string>& paths,
                    uint64_t save_id, const std::string& out,
                    const CompactOptions& options, ShardProgress* progress);

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_COMPACTOR_H_
