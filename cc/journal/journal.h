// Journal: what a shard needs to come back after it was killed, in a folder of
// its own on this machine.
//
// A folder has a log of records (see cc/log) and at most one base: all tables
// as they were at a position of the log. A shard comes back as the base, if
// there is one, and the records from its position on. What records say is their
// writer's matter.
//
// A base is a file as checkpoints are made of, "base-" and its position; it has
// its name once all of it is durable, and then the records before it go.

#ifndef PERSIA_CC_JOURNAL_JOURNAL_H_
#define PERSIA_CC_JOURNAL_JOURNAL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/checkpoint/client_window.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/file_system.h"
#include "cc/files/folder_lock.h"
#include "cc/log/log_reader.h"
#include "cc/log/log_writer.h"
#include "cc/store/store.h"

namespace persia {

struct JournalOptions {
  FileSystem* files = LocalFiles();
  std::string folder;
  SyncMode sync = SyncMode::kDevice;
  // How long to wait for another process that uses the folder.
  double lock_seconds = 10;
  // A base is due when the log has grown by this, and by as much as the last
  // base has: so bases cost no more than what is logged.
  uint64_t least_base_bytes = uint64_t{1} << 30;
  // Where the log is damaged just at this record, what comes before it is all;
  // 0: nothing is given up. See LogReader.
  uint64_t lose_from = 0;
};

// Takes what a journal holds, in its order. A failure ends the reading.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  // First, if there is a base.
  virtual Status OnBase(Store::Tables tables,
                        const std::vector<ClientWindow>& clients) = 0;
  virtual Status OnRecord(const LogRecord& record) = 0;
};

// Thread-safe.
class Journal {
 public:
  // Gives `visitor` what the folder holds, and goes on from there. Blocks for
  // as long as that takes. kFailedPrecondition if another process uses the
  // folder; kDataLoss, naming the place, if what had been made durable is not
  // there; else the errors of FileSystem and of the visitor.
  static Result<std::unique_ptr<Journal>> Open(const JournalOptions& options,
                                               JournalVisitor* visitor);

  // See LogWriter. After Break, its error.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` when the records before `position` are durable, or never will
  // be: on the caller's thread if that is known, else on the log's. Does not
  // block; neither may `done`.
  void WhenDurable(uint64_t position, LogWriter::DurableCallback done);

  // The same, as its result: for what is rare.
  Status BlockUntilDurable(uint64_t position);

  // That of the next record.
  uint64_t position() const { return log_->position(); }

  // What was done and what is logged may differ from now on: nothing is
  // appended any more.
  void Break(const Status& status);

  // Whether it is time for a base, as the log has grown or DemandBase says.
  bool wants_base() const;

  // Since rows came of a checkpoint, which the records before the next one only
  // name: a base is due. Until there is one from now on, a shard that comes
  // back reads the checkpoint, in `folder`.
  void DemandBase(const std::string& folder);
  // That folder; "": the journal needs no checkpoint.
  std::string needed_checkpoint() const;

  // Makes the tables' base at `position`, where they were frozen, in place of
  // the last. Blocks for as long as the device takes. One at a time.
  Status WriteBase(uint64_t position, const ShardHeader& shard,
                   const std::vector<SavedTable>& tables,
                   const std::vector<ClientWindow>& clients,
                   ShardProgress* progress);

  // How much was read, for messages.
  const std::string& notes() const { return notes_; }
  // What of the log was left out, if anything.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

 private:
  explicit Journal(const JournalOptions& options) : options_(options) {}

  Status Read(JournalVisitor* visitor);
  Status ReadBase(uint64_t position, JournalVisitor* visitor);
  Status WithoutLog(uint64_t base, const Status& log) const;
  Status RemoveOldBases(uint64_t position) const;
  std::string BasePath(uint64_t position) const;
  LogPlace place() const;

  const JournalOptions options_;
  std::unique_ptr<FolderLock> lock_;
  std::string notes_;
  std::optional<TornTail> torn_tail_;
  std::atomic<uint64_t> appended_bytes_{0};    // Since the last base.
  std::atomic<uint64_t> base_bytes_{0};        // Of the last base.
  std::atomic<bool> needs_checkpoint_{false};  // See DemandBase.

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  Status broken_;
  std::string needed_checkpoint_;
  uint64_t needed_before_ = 0;  // By bases of earlier positions.

  std::unique_ptr<LogWriter> log_;  // Ends before what its callbacks use.
};

}  // namespace persia

#endif  // PERSIA_CC_JOURNAL_JOURNAL_H_
