// SaveChain: the save of a store that the next save may be an increment of.
//
// Thread-safe, but saves must be begun, committed and broken by one thread at a
// time. Never blocks beyond a short lock.

#ifndef PERSIA_CC_SERVICE_SAVE_CHAIN_H_
#define PERSIA_CC_SERVICE_SAVE_CHAIN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/table.h"

namespace persia {

// The save that was committed last.
struct CommittedSave {
  ShardHeader shard;  // Save id 0: there is none.
  std::string folder;
  std::vector<std::string> files;  // Paths that restore it, parents first.
};

class SaveChain {
 public:
  // The save that an increment may have as parent, if it was made with the same
  // shard index and count; 0: none.
  uint64_t Base(const ShardHeader& shard) const;

  // The same, whatever its shard index and count.
  uint64_t known_base() const;

  using Tables = std::vector<std::shared_ptr<Table>>;

  // A save has begun: it has frozen these tables.
  void Begin(const ShardHeader& header, Tables tables);

  // The error that Commit would return if another save was begun last.
  Status CheckBegun(uint64_t save_id) const;

  // The save that was begun last is complete: all its rows have been read.
  // Idempotent. kFailedPrecondition if another save was begun last.
  Status Commit(const CommittedSave& save);

  // Tables were replaced or dropped: the changes since the last save are no
  // longer known, and a save that was begun cannot be committed.
  void Break();

  CommittedSave committed() const;

 private:
  // These require mutex_.
  uint64_t KnownBase() const;
  Status CheckIsBegun(uint64_t save_id) const;

  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  ShardHeader begun_;
  Tables tables_;     // Of the save that was begun.
  ShardHeader base_;  // Of the save that was committed.
  Tables base_tables_;
  CommittedSave committed_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_SAVE_CHAIN_H_
