// LogWriter: appends records to a log, with group commit.
//
// A thread of its own writes what was appended and syncs it; what is appended
// meanwhile goes with the next sync. So a sync serves as many records as come
// while one lasts, and nobody waits for the device but who wants to.
//
// It never writes to a segment that was there before it: what a crash tore
// stays as it is.
//
// After an error of the device the log is closed for good, since what of the
// last batch is there nobody knows: whatever is not durable by then, and every
// later call, gets that error. A record that is not acknowledged may be in the
// log all the same.
//
// One writer at a time: nothing here keeps two processes out of one folder.

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
  // The most that is gathered; as much again is being written. A larger record
  // goes alone.
  size_t max_batch_bytes = 8u << 20;
};

// Thread-safe, but for Close and the destructor.
class LogWriter {
 public:
  using DurableCallback = std::function<void(Status)>;

  // Goes on where `log` ends, which is at its end (kFailedPrecondition
  // otherwise) and need not outlive this. With SyncMode::kDevice, what `log`
  // read is durable afterwards. Segments that it gave up stay in the folder, by
  // other names. Blocks for as long as the device takes.
  static Result<std::unique_ptr<LogWriter>> Open(const LogReader& log,
                                                 const LogOptions& options);

  ~LogWriter();

  // Appends a record whose body `parts` are in order; returns its position.
  // Copies them, and waits only while the gathered batch is full. Without
  // memory for them, kResourceExhausted, and without consequences;
  // kInvalidArgument for more than kMaxLogBodyBytes.
  Result<uint64_t> Append(uint16_t type, Span<const Span<const uint8_t>> parts);

  // Calls `done` once, on the log's thread, when that record and all before it
  // are as durable as the SyncMode says, or with the error; kCancelled for a
  // record that never came. `done` may call WhenDurable, but neither wait nor
  // Append, which may wait for this thread. Never blocks. Without memory for
  // its few words it ends the program: somebody would wait for ever.
  void WhenDurable(uint64_t position, DurableCallback done) noexcept;

  // Whether that record is durable already. Takes no lock: lookups ask.
  bool IsDurable(uint64_t position) const { return position < durable_; }

  // That of the next record.
  uint64_t position() const;

  // Refuses further records, makes what was appended durable and calls who
  // waits. Returns the error, if there ever was one. Later calls: the same.
  // What is asked of WhenDurable afterwards is answered at once. Blocks for as
  // long as the device takes; not to be called by a callback.
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

  const std::unique_ptr<SegmentWriter> segments_;  // The log's thread's.
  LogBatch written_;                               // The log's thread's.

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  // All below: guarded by mutex_.
  LogBatch batch_;
  uint64_t next_;  // Position of the next record.
  // Records before this position are. Read without mutex_, too.
  std::atomic<uint64_t> durable_;
  Waiters waiters_;
  Status status_;  // Why no further record becomes durable.
  bool closing_ = false;
  bool ended_ = false;  // The thread calls nobody any more.

  Status close_status_;  // Close's.
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_WRITER_H_
