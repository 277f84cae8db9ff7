// LogWriter: appends records to a log, with group commit.
//
// A thread of the writer writes and syncs what was appended; records that are
// appended meanwhile wait for the next sync. So one sync serves all records
// that arrive during the previous one, and a caller waits for the device only
// if it asks to.
//
// It never writes to a segment of an earlier writer: a torn end stays as it is.
//
// After a device error the log accepts nothing more, since it is unknown how
// much of the last batch was written: every record that is not yet durable, and
// every later call, gets that error. A record that was not acknowledged may be
// in the log nevertheless.
//
// Only one writer at a time: nothing here keeps a second process out of the
// folder.

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
  // The size at which Append waits; another batch of this size may be being
  // written. A larger record is written alone.
  size_t max_batch_bytes = 8u << 20;
};

// Thread-safe, except for Close and the destructor.
class LogWriter {
 public:
  using DurableCallback = std::function<void(Status)>;

  // Continues at the end of `log`, which must have been read to its end
  // (kFailedPrecondition otherwise) and need not outlive the writer. With
  // SyncMode::kDevice, makes what `log` has read durable. Renames segments that
  // `log` gave up; they stay in the folder. Blocks for as long as the device
  // takes.
  static Result<std::unique_ptr<LogWriter>> Open(const LogReader& log,
                                                 const LogOptions& options);

  ~LogWriter();

  // Appends a record whose body is the concatenation of `parts`; returns its
  // position. Copies them, and blocks only while the current batch is full.
  // kResourceExhausted, with no effect, if there is no memory for them;
  // kInvalidArgument for more than kMaxLogBodyBytes.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` once, on the log's thread, when the record at `position` and
  // all before it are durable, as the SyncMode says, or with the error;
  // kCancelled if the log was closed before such a record was appended. After
  // Close, calls `done` at once on the caller's thread. `done` may call
  // WhenDurable, but must not wait or call Append, which may wait for this
  // thread. Never blocks. Terminates the program if there is no memory for its
  // few bytes, since a caller would otherwise wait forever.
  void WhenDurable(uint64_t position, DurableCallback done) noexcept;

  // Whether that record is durable already. Takes no lock, since each lookup
  // may ask.
  bool IsDurable(uint64_t position) const { return position < durable_; }

  // The position of the next record.
  uint64_t position() const;

  // Refuses further records, makes those that were appended durable and calls
  // back the waiters. Returns the error, if there ever was one; so do later
  // calls. Blocks for as long as the device takes; must not be called by a
  // callback.
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

  // Used by the log's thread alone.
  const std::unique_ptr<SegmentWriter> segments_;
  LogBatch written_;  // Used by the log's thread alone.

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  // Everything below is guarded by mutex_.
  LogBatch batch_;
  uint64_t next_;  // Position of the next record.
  // Records before this position are durable. Also read without mutex_.
  std::atomic<uint64_t> durable_;
  Waiters waiters_;
  Status status_;  // Why no further record becomes durable.
  bool closing_ = false;
  bool ended_ = false;  // The thread makes no further callbacks.

  Status close_status_;  // What Close returned.
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_WRITER_H_
