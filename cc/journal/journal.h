// Journal: what a shard needs to recover after it was killed, in a folder of
// its own on this machine.
//
// A folder has a log of records (see cc/log) and at most one log base, a
// snapshot of all tables at a position of the log. A shard recovers by loading
// the base, if there is one, and replaying the records from its position on.
// The caller defines what records mean.
//
// A base is a file in the format of checkpoints, named "base-" and its
// position. It gets its name once all of it is durable; then the records before
// it are removed.

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
  // How long to wait for another process to release the folder.
  double lock_seconds = 10;
  // A base is due when the log has grown by this since the last base, and by at
  // least that base's size: so writing bases costs no more than logging.
  uint64_t least_base_bytes = uint64_t{1} << 30;
  // If the log is damaged exactly at this record, it ends before it and the
  // rest is given up; 0: nothing is given up. See LogReader.
  uint64_t lose_from = 0;
};

// Receives what a journal holds, in order. An error ends the reading.
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
  // Passes the folder's contents to `visitor`, then continues the log from
  // there. Blocks for as long as that takes. kFailedPrecondition if another
  // process uses the folder; kDataLoss, naming the place, if something that was
  // durable is missing; otherwise the errors of FileSystem and of the visitor.
  static Result<std::unique_ptr<Journal>> Open(const JournalOptions& options,
                                               JournalVisitor* visitor);

  // See LogWriter. After Break, returns its error.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` when the records before `position` are durable, or when it is
  // known that they never will be: on the caller's thread if that is known
  // already, otherwise on the log's. Does not block; neither may `done`.
  void WhenDurable(uint64_t position, LogWriter::DurableCallback done);

  // Blocks, and returns the same outcome: for rare uses.
  Status BlockUntilDurable(uint64_t position);

  // The position of the next record.
  uint64_t position() const { return log_->position(); }

  // The tables and the log may differ from now on: Append returns an error.
  void Break(const Status& status);

  // Whether a base is due, because of the log's growth or of DemandBase.
  bool wants_base() const;

  // Call it when rows came from the checkpoint in `folder`, since the log's
  // records only name the checkpoint: makes a base due. Until one is written at
  // this position or later, a shard that recovers reads that checkpoint.
  void DemandBase(const std::string& folder);
  // That folder; "" if the journal needs no checkpoint.
  std::string needed_checkpoint() const;

  // Replaces the last base by one of the tables as they were frozen at
  // `position`. Blocks for as long as the device takes. Only one call at a
  // time.
  Status WriteBase(uint64_t position, const ShardHeader& shard,
                   const std::vector<SavedTable>& tables,
                   const std::vector<ClientWindow>& clients,
                   ShardProgress* progress);

  // How much was read, as a text for messages.
  const std::string& notes() const { return notes_; }
  // What was ignored at the log's end, if anything.
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
  // Everything below is guarded by mutex_.
  Status broken_;
  std::string needed_checkpoint_;
  uint64_t needed_before_ = 0;  // By bases before this position.

  std::unique_ptr<LogWriter> log_;  // Destroyed before what its callbacks use.
};

}  // namespace persia

#endif  // PERSIA_CC_JOURNAL_JOURNAL_H_
