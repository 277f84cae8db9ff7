// SaveChain: which save of a store the next one may be an increment of.
//
// Thread-safe; but whoever begins, commits or ends saves does one at a time.
// Never blocks beyond a short lock.

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

// The save that was last said to be complete.
struct CommittedSave {
  ShardHeader shard;  // Save id 0: there was none.
  std::string folder;
  std::vector<std::string> files;  // Paths that restore it, parents' first.
};

class SaveChain {
 public:
  // The save that an increment may be of, of this shard of so many; 0: none.
  uint64_t Base(const ShardHeader& shard) const;

  // The same, of whatever shard it is.
  uint64_t known_base() const;

  using Tables = std::vector<std::shared_ptr<Table>>;

  // A save has frozen these tables.
  void Begin(const ShardHeader& header, Tables tables);

  // What Commit would say of it.
  Status CheckBegun(uint64_t save_id) const;

  // The save that was begun last is complete, and its rows are all read; a
  // second time does nothing. kFailedPrecondition if another one was.
  Status Commit(const CommittedSave& save);

  // Tables were replaced or dropped: what changed since is not known any more,
  // and a save that was begun cannot be committed.
  void Break();

  CommittedSave committed() const;

 private:
  // These expect the lock.
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
