// CheckpointRequest: what a service can be asked about checkpoints.
//
// A checkpoint is a folder with a file of each shard, and whatever else its
// maker writes there. Saves and restores go on in the background; a service
// works on one at a time, and keeps its outcome until it is told to forget it.

#ifndef PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_
#define PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

enum class CheckpointAction : uint32_t {
  // Begins to write the shard's file, with the rows as they are now: between
  // two updates. With a parent_id it has only what changed since that save:
  // kFailedPrecondition if the shard does not know that. The same save may be
  // asked for again.
  kSave = 1,
  // Begins to read `files`: those of all shards of a checkpoint, and before
  // them those that they are increments of, each after its parent. They are
  // paths as `folder` is, which only names it here. No row changes yet. The
  // same restore may be asked for again.
  kRestore = 2,
  // How far the last save or restore is.
  kProgress = 3,
  // Puts what was read in place of the tables that it is of; others stay. The
  // store is of `generation` then, so that updates that answer earlier lookups
  // are refused. kFailedPrecondition if nothing was read. The same swap may be
  // asked for again. The files may not go before kProgress says that they are
  // not `needed`.
  kSwap = 4,
  // Ends the save or restore, if it has not ended, and forgets it: that of
  // save_id, or any if it is 0.
  kForget = 5,
  // The save, which is in `folder`, is complete: its manifest is written, and
  // `files` restore it, as in kRestore. An increment of it may come next.
  // kFailedPrecondition if this shard did not
  // write it, or forgot it. The same save may be committed again.
  kCommit = 6,
  // These are about small files in the folder, and asked of one shard only.
  kWriteFile = 7,   // Sets files[0] to `contents`, in one step.
  kReadFile = 8,    // Gives its `contents`.
  kListFolder = 9,  // Gives the `names` in the folder: none if it is not there.
  kRemoveFiles = 10  // Removes `files`, and the folder if it is empty then.
};

inline constexpr CheckpointAction kLastCheckpointAction =
    CheckpointAction::kRemoveFiles;

// Of one shard.
struct CheckpointProgress {
  enum class State : uint32_t { kIdle = 0, kRunning = 1, kEnded = 2 };

  State state = State::kIdle;
  Status outcome;           // Once it has ended.
  std::string file;         // That a save of this shard has in the folder.
  uint64_t rows = 0;        // Written or read so far.
  uint64_t total_rows = 0;  // Of a save: about how many there will be.
  uint64_t bytes = 0;
  uint64_t base_id = 0;  // The save that an increment may be of; 0: none.
  // The folder of a checkpoint that was swapped in, as long as a shard with a
  // log of every change would read it to come back: until its log has a base.
  std::string needed;
  Status base_outcome;  // Why there is none yet: how the last attempt failed.
};

struct CheckpointRequest {
  // Small files may not be larger.
  static constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;

  Deadline deadline;
  CheckpointAction action = CheckpointAction::kProgress;
  // Which shard this is asked of. Whoever splits requests sets it.
  uint32_t shard_index = 0;
  uint32_t shard_count = 1;
  uint64_t save_id = 0;  // Not 0: tells one checkpoint's files from another's.
  uint64_t parent_id = 0;   // Of kSave; 0: all rows are saved.
  uint64_t generation = 0;  // Of kSwap; not 0.
  std::string folder;       // See PathWithin.
  // Names in the folder, or paths of kRestore and kCommit.
  std::vector<std::string> files;
  // Also an output, of kReadFile.
  std::vector<uint8_t> contents;

  std::vector<CheckpointProgress> shards;  // Output, but of what one is asked.
  std::vector<std::string> names;          // Output of kListFolder.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_
