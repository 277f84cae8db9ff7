// StandbyFolder: the recovery folder of a standby. A file in it says whether
// the log there is still that of the primary, or the shard's own since the
// standby has taken the primary's place.
//
// Not thread-safe. All calls wait for the storage device.

#ifndef PERSIA_CC_SHARD_STANDBY_FOLDER_H_
#define PERSIA_CC_SHARD_STANDBY_FOLDER_H_

#include <string>

#include "cc/base/status.h"
#include "cc/journal/journal.h"

namespace persia {

enum class FolderState {
  kEmpty,     // Nothing is there.
  kCopy,      // The log of a primary.
  kPromoted,  // The log of a shard that was a standby.
};

// Returns what a folder is. kFailedPrecondition if it is a shard's that was
// never a standby.
Result<FolderState> StateOfFolder(const JournalOptions& journal);

// Writes durably what the folder is; not kEmpty.
Status SetStateOfFolder(const JournalOptions& journal, FolderState state);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_STANDBY_FOLDER_H_
