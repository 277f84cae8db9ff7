// CheckpointRequest: the operations of a service on checkpoints.
//
// A checkpoint is a folder with one file per shard and with files of the
// program that saves it, such as the manifest. Saves and restores run in the
// background; a service runs one save or restore at a time, and retains its
// outcome until a kForget request.

#ifndef PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_
#define PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/slot_set.h"
#include "cc/base/status.h"

namespace persia {

enum class CheckpointAction : uint32_t {
  // Begins to write the shard's file, a snapshot of the rows between two
  // updates. If parent_id is not 0, the file contains only what changed since
  // that save; kFailedPrecondition if the shard does not know these changes.
  // Idempotent for the same save_id.
  kSave = 1,
  // Begins to read `files`: the files of all shards of a checkpoint. If the
  // checkpoint is an increment, the files of the checkpoints that it builds on
  // precede them, parents first. Each file is a path of the same form as
  // `folder`; `folder` itself only names the checkpoint. Changes no row yet:
  // kSwap does. Idempotent for the same save_id.
  kRestore = 2,
  // Reports how far the save or restore `save_id` has advanced; if save_id is
  // 0, the last one. A shard that did not begin it is kIdle.
  kProgress = 3,
  // Replaces tables of the store with the tables that the restore read; other
  // tables stay. The store then has the generation `generation`, so that
  // updates that belong to earlier lookups are refused. kFailedPrecondition if
  // the restore has not read its files completely. Idempotent for the same
  // generation. The checkpoint's files must not be deleted until kProgress no
  // longer reports their folder as `needed`.
  kSwap = 4,
  // Cancels the save or restore `save_id` if it still runs, and discards its
  // outcome. If save_id is 0, this applies to any save or restore.
  kForget = 5,
  // Declares that the save in `folder` is complete: its manifest is written,
  // and `files` are the files that a kRestore of it would read. The next save
  // may then be an increment of this save. kFailedPrecondition if this shard
  // did not write the save, or has forgotten it. Idempotent for the same
  // save_id.
  kCommit = 6
};

inline constexpr CheckpointAction kLastCheckpointAction =
    CheckpointAction::kCommit;

// The progress of the save or restore of one shard.
struct CheckpointProgress {
  enum class State : uint32_t { kIdle = 0, kRunning = 1, kEnded = 2 };

  State state = State::kIdle;
  Status outcome;    // Set once `state` is kEnded.
  std::string file;  // Name of this shard's file in the folder of a save.
  // Those of the rows that are saved or replaced; kIdle: those that it owns.
  SlotSet slots;
  uint64_t rows = 0;        // Rows written or read so far.
  uint64_t total_rows = 0;  // For a save: estimate of the rows to write.
  uint64_t bytes = 0;
  uint64_t base_id = 0;  // Save that an increment may have as parent; 0: none.
  // The folder of a checkpoint that was swapped in, as long as this shard would
  // have to read it to recover; otherwise empty. A shard that logs every change
  // needs the folder until its log has a base that was written after the swap.
  std::string needed;
  Status base_outcome;  // Error of the last attempt to write a base of the log.
};

struct CheckpointRequest {
  Deadline deadline;
  CheckpointAction action = CheckpointAction::kProgress;
  // Distinguishes one checkpoint's files from another's. Not 0, but for
  // kProgress and kForget.
  uint64_t save_id = 0;
  uint64_t parent_id = 0;          // For kSave; 0: all rows are saved.
  uint64_t generation = 0;         // For kSwap; not 0.
  std::string folder;              // Path; see PathWithin.
  std::vector<std::string> files;  // For kRestore and kCommit: paths.

  std::vector<CheckpointProgress> shards;  // Output of kProgress.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINT_REQUEST_H_
