// Journal: the files from which a killed shard recovers. They are in a folder
// on this machine that no other shard uses.
//
// The folder has a log of records (see cc/log) and at most one log base, which
// is a snapshot of all tables at a position of the log. A shard recovers by
// loading the base, if there is one, and replaying the records from the base's
// position on. The caller defines what the records mean.
//
// A base is a file in the format of checkpoints, named "base-" and its
// position. It gets this name only when all of it is durable; then the log
// records before its position are removed.

#ifndef PERSIA_CC_JOURNAL_JOURNAL_H_
#define PERSIA_CC_JOURNAL_JOURNAL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/event_log.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
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
  // If another process uses the folder, Open waits this many seconds for that
  // process to exit.
  double lock_seconds = 10;
  // A new base is due when the log has grown since the last base by at least
  // this many bytes, and by at least the last base's size. Writing bases
  // therefore costs no more than logging.
  uint64_t least_base_bytes = uint64_t{1} << 30;
  // If the log is damaged exactly at the record with this position, this record
  // and all later ones are discarded, and the log ends before it. 0 means that
  // damage is always an error. See LogReader.
  uint64_t lose_from = 0;
  // Whether the folder is a copy of another shard's, made by JournalCopy: the
  // log may not have begun yet.
  bool is_copy = false;
  // Receives an event if the log fails. May be null; must outlive the journal.
  EventLog* events = nullptr;
};

// The newest base of a journal, for another process that copies it.
struct OpenBase {
  uint64_t position = 0;  // Also where the log has to be read from.
  uint64_t bytes = 0;
  std::unique_ptr<ReadableFile> file;  // Null: there is no base yet.
};

// Receives the contents of a journal in order. If a method returns an error,
// reading stops with this error.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  // Receives the base, if the journal has one, before any record. Its tables
  // do not evict until their SetEvicts is called.
  virtual Status OnBase(Store::Tables tables,
                        const std::vector<ClientWindow>& clients) = 0;
  virtual Status OnRecord(const LogRecord& record) = 0;
};

// A shard's recovery log and its base, open for appending. Thread-safe.
class Journal {
 public:
  // Passes the folder's contents to `visitor`, and opens the log for appending
  // after its last record. Blocks until everything is read. Returns
  // kFailedPrecondition if another process uses the folder, and kDataLoss,
  // naming the file and position, if durable data is missing. Other errors are
  // those of FileSystem and of the visitor.
  static Result<std::unique_ptr<Journal>> Open(const JournalOptions& options,
                                               JournalVisitor* visitor);

  // Appends a record as LogWriter::Append does. After Break, returns the error
  // of Break.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` with OK when the records before `position` are durable, or
  // with an error when they can no longer become durable. If the outcome is
  // already known, `done` runs on the caller's thread, otherwise on the log's
  // thread. Neither this call nor `done` may block.
  void WhenDurable(uint64_t position, LogWriter::DurableCallback done);

  // Waits for the outcome of WhenDurable and returns it. Intended for rare
  // uses, because it blocks the thread.
  Status BlockUntilDurable(uint64_t position);

  // As BlockUntilDurable, and then waits as AlsoAwait says.
  Status BlockUntilAcknowledged(uint64_t position);
  // Sets for what BlockUntilAcknowledged waits, too. Call it before other
  // calls.
  void AlsoAwait(std::function<Status(uint64_t position)> wait) {
    also_await_ = std::move(wait);
  }

  // The position that the next record will have in the log.
  uint64_t position() const { return log_->position(); }

  // Records before this position are durable.
  uint64_t durable() const { return log_->durable(); }

  // Opens the newest base, and retains the log from its position on, as Retain
  // does. Waits for the storage device.
  Result<OpenBase> BeginCopy();
  // From now on, removes no records from `position` on, whatever bases are
  // written. Only the last call counts; kRetainNothing ends it.
  static constexpr uint64_t kRetainNothing = ~uint64_t{0};
  void Retain(uint64_t position) { retained_ = position; }

  // The folder of the log.
  LogPlace place() const;

  // Makes every later Append return an error. Call this when a change to the
  // tables could not be logged, so that tables and log may differ.
  void Break(const Status& status);

  // Whether a new base is due, because of the log's growth or because of
  // DemandBase.
  bool wants_base() const;

  // Makes a base due. Call this when rows were restored from the checkpoint in
  // `folder`, because the log only names the checkpoint and does not contain
  // its rows. Until a base at the log's present position or later is written, a
  // recovering shard reads that checkpoint.
  void DemandBase(const std::string& folder);
  // The folder of the last DemandBase, or "" if recovery needs no checkpoint.
  std::string needed_checkpoint() const;

  // Writes a base with the tables as they were frozen at `position`, and
  // removes the previous base. Waits for the storage device, without a time
  // limit. Only one call at a time is allowed.
  Status WriteBase(uint64_t position, const ShardHeader& shard,
                   const std::vector<SavedTable>& tables,
                   const std::vector<ClientWindow>& clients,
                   ShardProgress* progress);

  // How far the log has advanced, for operators.
  struct Progress {
    uint64_t records = 0;     // Appended since the log was created.
    uint64_t pending = 0;     // Appended, but not durable yet.
    uint64_t bytes = 0;       // Appended since the last base.
    uint64_t base_bytes = 0;  // The size of the last base.
    bool has_failed = false;  // Whether the log accepts no more records.
  };
  Progress progress() const;

  // Describes how much Open has read, as text for messages.
  const std::string& notes() const { return notes_; }
  // Describes the records at the log's end that Open ignored; nullopt if there
  // were none.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

 private:
  explicit Journal(const JournalOptions& options) : options_(options) {}

  Status Read(JournalVisitor* visitor);
  Status ReadBase(uint64_t position, JournalVisitor* visitor);
  Status WithoutLog(uint64_t base, const Status& log) const;
  Status RemoveOldBases(uint64_t position) const;
  std::string BasePath(uint64_t position) const;
  Status RemoveBefore(uint64_t position);

  const JournalOptions options_;
  std::unique_ptr<FolderLock> lock_;
  std::string notes_;
  std::optional<TornTail> torn_tail_;
  // The bytes that were logged since the last base.
  std::atomic<uint64_t> appended_bytes_{0};
  std::atomic<uint64_t> base_bytes_{0};  // The size of the last base.
  // Whether recovery needs a checkpoint: see DemandBase.
  std::atomic<bool> needs_checkpoint_{false};

  std::function<Status(uint64_t position)> also_await_;
  std::atomic<uint64_t> retained_{kRetainNothing};
  // Held while old bases and records are removed.
  std::mutex removing_;

  mutable std::mutex mutex_;
  // mutex_ guards the members from here to needed_before_.
  Status broken_;
  std::string needed_checkpoint_;
  // A base at this position or later makes needed_checkpoint_ unnecessary.
  uint64_t needed_before_ = 0;

  // The last member, so that it is destroyed before the members that its
  // callbacks use.
  std::unique_ptr<LogWriter> log_;
};

}  // namespace persia

#endif  // PERSIA_CC_JOURNAL_JOURNAL_H_
