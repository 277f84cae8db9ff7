// The recovery folder of a standby. A file in it says how far the standby is.
//
// Not thread-safe. All calls wait for the storage device.

#ifndef PERSIA_CC_SHARD_STANDBY_FOLDER_H_
#define PERSIA_CC_SHARD_STANDBY_FOLDER_H_

#include "cc/base/status.h"
#include "cc/journal/journal.h"

namespace persia {

enum class FolderState {
  kNone,      // The folder is no standby's.
  kCopying,   // A part of the primary's log, which may lack what was
              // acknowledged.
  kWhole,     // The primary's log, which had all records once.
  kTaking,    // The same, while the standby takes the primary's place.
  kPromoted,  // The log of a shard that was a standby.
};

// Returns what a folder is.
Result<FolderState> StateOfFolder(const JournalOptions& journal);

// kFailedPrecondition if the folder is that of a shard that was never a
// standby.
Status CheckFolderOfStandby(const JournalOptions& journal);
// kFailedPrecondition if the folder is that of a standby that has not taken its
// primary's place.
Status CheckFolderOfShard(const JournalOptions& journal);

// Writes durably what the folder is; not kNone.
Status SetStateOfFolder(const JournalOptions& journal, FolderState state);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_STANDBY_FOLDER_H_
