// CheckpointRequest: the operations of a service on checkpoints.
//
// A checkpoint is a folder with one file per shard, and whatever else the
// program that makes it writes there. Saves and restores run in the background;
// a service runs one at a time, and retains its outcome until a request forgets
// it.

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
  // two updates. With a parent_id the file has only what changed since that
  // save: kFailedPrecondition if the shard does not know those changes. The
  // request is idempotent for the same save.
  kSave = 1,
  // Begins to read `files`: those of all shards of a checkpoint, preceded by
  // the files that it is an increment of, each after its parent. Each is a path
  // like `folder`, which here only names the checkpoint. No row changes yet.
  // The request is idempotent for the same restore.
  kRestore = 2,
  // Reports how far the last save or restore is.
  kProgress = 3,
  // Replaces the tables that the restore read; other tables stay. The store
  // then has the generation `generation`, so that updates that belong to
  // earlier lookups are refused. kFailedPrecondition if nothing was read. The
  // request is idempotent for the same swap. The files must stay until
  // kProgress no longer reports the folder as `needed`.
  kSwap = 4,
  // Cancels the save or restore if it still runs, and forgets it: the one with
  // save_id, or any if that is 0.
  kForget = 5,
  // The save in `folder` is complete: its manifest is written, and `files`
  // restore it, as in kRestore. The next save may be an increment of it.
  // kFailedPrecondition if this shard did not write the save, or forgot it. The
  // request is idempotent for the same save.
  kCommit = 6,
  // The actions below handle small files in the folder, on one shard only.
  kWriteFile = 7,    // Writes `contents` to files[0], atomically.
  kReadFile = 8,     // Reads files[0] into `contents`.
  kListFolder = 9,   // Lists `names` in the folder: none if it does not exist.
  kRemoveFiles = 10  // Removes `files`, then the folder if it is empty.
};

inline constexpr CheckpointAction kLastCheckpointAction =
    CheckpointAction::kRemoveFiles;

// The progress of one shard.
struct CheckpointProgress {
  enum class State : uint32_t { kIdle = 0, kRunning = 1, kEnded = 2 };

  State state = State::kIdle;
  Status outcome;     // Once it has ended.
  std::string file;   // Name of this shard's file in the folder of a save.
  uint64_t rows = 0;  // Written or read so far.
  uint64_t total_rows = 0;  // Of a save: estimated rows to write.
  uint64_t bytes = 0;
  uint64_t base_id = 0;  // Save that an increment may have as parent; 0: none.
  // The folder of a checkpoint that was swapped in, as long as a shard that
  // logs every change would have to read it to recover: until its log has a
  // base written after the swap. Otherwise empty.
  std::string needed;
  Status base_outcome;  // Why that base is missing: the last failure.
};

struct CheckpointRequest {
  // Largest size of a small file.
  static constexpr uint64_t kMaxFileBytes = uint64_t{16} << 20;

  Deadline deadline;
  CheckpointAction action = CheckpointAction::kProgress;
  // The shard that gets this request. Set by the client that splits it by
  // shard.
  uint32_t shard_index = 0;
  uint32_t shard_count = 1;
  // Not 0: distinguishes one checkpoint's files from another's.
  uint64_t save_id = 0;
  uint64_t parent_id = 0;   // For kSave; 0: all rows are saved.
  uint64_t generation = 0;  // For kSwap; not 0.
  std::string folder;       // See PathWithin.
  // Names in the folder; for kRestore and kCommit, paths.
  std::vector<std::string> files;
  // Input of kWriteFile, output of kReadFile.
  std::vector<uint8_t> contents;

  std::vector<CheckpointProgress> shards;  // Output of kProgress.
  std::vector<std::string> names;          // Output of kListFolder.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_
