// LogWriter: appends records to a recovery log, with group commit.
//
// A separate thread writes the appended records and syncs them to the device.
// Records that are appended during a sync wait for the next sync, so one sync
// serves many records. Callers wait for the device only if they request it.
//
// A writer never writes to the segments of an earlier writer, so torn records
// at the end of an earlier segment stay as they are.
//
// After a device error it is unknown how much of the last batch was written, so
// the log accepts no more records. All later calls receive that error, and so
// do the callbacks of all records that are not yet durable. A record may be in
// the log although it was not acknowledged.
//
// Only one writer may exist at a time, but this class does not prevent a second
// process from writing to the folder.

#ifndef PERSIA_CC_LOG_LOG_WRITER_H_
#define PERSIA_CC_LOG_LOG_WRITER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "cc/base/status.h"
#include "cc/log/log_batch.h"
#include "cc/log/log_reader.h"
#include "cc/log/segment_writer.h"

namespace persia {

struct LogOptions {
  SegmentOptions segments;
  // The size of a full batch, in which Append puts records: while the batch is
  // full, Append waits. Meanwhile the previous batch may be being written, so
  // two batches may be in memory. A larger record is written alone.
  size_t max_batch_bytes = 8u << 20;
  // Called at most once, on the log's thread, with the error because of which
  // the log accepts no more records. May be null.
  std::function<void(const Status&)> on_failure = nullptr;
};

// Thread-safe, except for Close and the destructor.
class LogWriter {
 public:
  using DurableCallback = std::function<void(Status)>;

  // Opens a writer that continues at the end of `log`, which need not outlive
  // the writer. If `log` was not read to its end, returns kFailedPrecondition.
  // With SyncMode::kDevice, makes durable the records that `log` has read.
  // Renames the segments that `log` gave up; they stay in the folder. Waits for
  // the storage device, without a time limit.
  static Result<std::unique_ptr<LogWriter>> Open(const LogReader& log,
                                                 const LogOptions& options);

  ~LogWriter();

  // Copies a record, whose body is the concatenation of `parts`, to the current
  // batch, and returns the record's position. Blocks only while the current
  // batch is full. Returns kResourceExhausted, without effect, if there is no
  // memory for the record, and kInvalidArgument if the body exceeds
  // kMaxLogBodyBytes.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` exactly once, on the log's thread, with
  // - OK, when the record at `position` and all earlier ones are durable, as
  //   the SyncMode defines it;
  // - the log's error, if they cannot become durable;
  // - kCancelled, if the log is closed before a record was appended at
  //   `position`.
  //
  // After Close, `done` is called immediately, on the caller's thread. `done`
  // may call WhenDurable, but it must not wait, nor call Append, which may wait
  // for the log's thread. Never blocks. Terminates the program if there is no
  // memory to store `done`: whoever waits for `done` would otherwise wait
  // forever.
  void WhenDurable(uint64_t position, DurableCallback done) noexcept;

  // Whether the record at `position` is already durable. Takes no lock, because
  // every lookup may call this.
  bool IsDurable(uint64_t position) const { return position < durable_; }

  // The position that the next record will have.
  uint64_t position() const;
  // Records before this position are durable.
  uint64_t durable() const { return durable_; }

  // How many appended records are not durable yet, and the error because of
  // which the log accepts no more records.
  struct Backlog {
    uint64_t records = 0;
    Status error;
  };
  Backlog backlog() const;

  // Refuses further records, makes the appended records durable and runs the
  // remaining callbacks. Returns the log's error, if one has occurred; later
  // calls return the same. Waits for the storage device, without a time limit.
  // Must not be called by a callback.
  Status Close();

 private:
  using Waiters = std::multimap<uint64_t, DurableCallback>;

  LogWriter(std::unique_ptr<SegmentWriter> segments, const LogOptions& options,
            uint64_t position);

  void Run();
  bool HasWork() const;
  void WriteBatch(std::unique_lock<std::mutex>* lock);
  void CallDue(std::unique_lock<std::mutex>* lock);
  Status OutcomeOf(uint64_t position) const;

  // Only the log's thread uses this member.
  const std::unique_ptr<SegmentWriter> segments_;
  const std::function<void(const Status&)> on_failure_;
  LogBatch written_;  // The batch being written; only the log's thread uses it.

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  // mutex_ guards the members from here to ended_.
  LogBatch batch_;
  uint64_t next_;  // The position that the next record will have.
  // Records before this position are durable. This member may be read without
  // mutex_.
  std::atomic<uint64_t> durable_;
  Waiters waiters_;
  // If not OK, the error because of which no further record becomes durable.
  Status status_;
  bool closing_ = false;
  bool ended_ = false;  // Whether the log's thread has run its last callback.

  Status close_status_;  // The result of the first Close.
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_WRITER_H_
