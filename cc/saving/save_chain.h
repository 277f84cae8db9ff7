// SaveChain: records which save of a store the next save may be an increment
// of.
//
// Thread-safe, but only one thread at a time may call Begin, Commit or Break.
// Blocks only for short locks.

#ifndef PERSIA_CC_SAVING_SAVE_CHAIN_H_
#define PERSIA_CC_SAVING_SAVE_CHAIN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/slot_set.h"
#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/store/table.h"

namespace persia {

// The save that was committed last.
struct CommittedSave {
  uint64_t save_id = 0;  // 0 if no save was committed.
  std::string folder;
  // The paths of the files that restore the save, its parents' files first.
  std::vector<std::string> files;
};

class SaveChain {
 public:
  // Id of the save that an increment of the rows of `slots` may have as parent.
  // 0 if there is no such save, or if it has the rows of other slots.
  uint64_t Base(const SlotSet& slots) const;

  // Like Base, but for a save since whose beginning no slots have moved.
  uint64_t known_base() const;

  // Call it when the shard has got slots or given some away: a save that was
  // begun before is then no base, unless its slots are the same again.
  void NoteMove();

  using Tables = std::vector<std::shared_ptr<Table>>;

  // Records that the save `header` has begun and has frozen `tables`.
  void Begin(const ShardHeader& header, Tables tables);

  // kFailedPrecondition, as from Commit, unless `save_id` was begun last.
  Status CheckBegun(uint64_t save_id) const;

  // Records that `save`, the save begun last, is complete: all its rows have
  // been read. Idempotent. kFailedPrecondition if another save was begun last.
  Status Commit(const CommittedSave& save);

  // Call it when tables were replaced or dropped: the changes since the last
  // save are then no longer known, and a save that was begun cannot be
  // committed.
  void Break();

  CommittedSave committed() const;

 private:
  // The caller must hold mutex_.
  uint64_t KnownBase() const;
  Status CheckIsBegun(uint64_t save_id) const;

  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  ShardHeader begun_;
  Tables tables_;     // Of the save that was begun.
  ShardHeader base_;  // Of the save that was committed.
  Tables base_tables_;
  CommittedSave committed_;
  // Whether slots have moved since each save was begun.
  bool begun_moved_ = false;
  bool base_moved_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_SAVE_CHAIN_H_
