// JournalCopy: a copy of another shard's journal, up to its base. The records
// that follow the base are appended once the copy is opened as a Journal, with
// JournalOptions::is_copy.
//
// Not thread-safe. All calls wait for the storage device, without a time limit.

#ifndef PERSIA_CC_JOURNAL_JOURNAL_COPY_H_
#define PERSIA_CC_JOURNAL_JOURNAL_COPY_H_

#include <cstdint>
#include <memory>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/files/file_system.h"
#include "cc/files/folder_lock.h"
#include "cc/journal/journal.h"

namespace persia {

class JournalCopy {
 public:
  // Removes all bases and records in the folder, and begins a copy whose base
  // has this position. kFailedPrecondition if another process uses the folder.
  static Result<std::unique_ptr<JournalCopy>> Begin(
      const JournalOptions& options, uint64_t position);

  // Appends to the base.
  Status Append(Span<const uint8_t> bytes);

  // Completes the copy: makes the base durable, and begins the log after it.
  // Without this call, the folder is empty for those that open it.
  Status Finish();

 private:
  JournalCopy(const JournalOptions& options, uint64_t position)
      : options_(options), position_(position) {}

  const JournalOptions options_;
  const uint64_t position_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<WritableFile> base_;  // Null: nothing was appended.
};

}  // namespace persia

#endif  // PERSIA_CC_JOURNAL_JOURNAL_COPY_H_
