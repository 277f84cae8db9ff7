#include "cc/log/log_writer.h"

#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

Status Closed() {
  return Status(Code::kCancelled,
                "the log is closed and takes no more records");
}

Status Broken(const Status& cause) {
  return Status(
      cause.code(),
      Concat(cause.message(),
             "; logging has stopped: fix the cause, and restart the shard"));
}

// Syncs the segments that were read, because they may not be on the device yet,
// and no later record may become durable before they are.
Status SyncAll(const LogReader& log) {
  for (const Segment& segment : log.segments()) {
    PERSIA_RETURN_IF_ERROR(log.place().files->Sync(segment.path));
  }
  return Status();
}

uint64_t BytesOf(Span<const Span<const uint8_t>> parts) {
  uint64_t bytes = 0;
  for (const Span<const uint8_t> part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::Open(const LogReader& log,
                                                   const LogOptions& options) {
  if (!log.is_at_end()) {
    return Status(Code::kFailedPrecondition,
                  Concat("the log in ", log.place().folder,
                         " was not read to its end: read it, then append"));
  }
  if (options.segments.sync == SyncMode::kDevice) {
    PERSIA_RETURN_IF_ERROR(SyncAll(log));
  }
  const LogPlace& place = log.place();
  PERSIA_RETURN_IF_ERROR(place.files->MakeFolder(place.folder));
  if (log.torn_tail()) {
    PERSIA_RETURN_IF_ERROR(SetAside(place, log.torn_tail()->segments));
  }
  const uint64_t number =
      log.segments().empty() ? 1 : log.segments().back().number + 1;
  auto segments =
      SegmentWriter::Open(place, options.segments, number, log.position());
  if (!segments.ok()) return segments.status();
  return CatchBadAlloc([&]() -> Result<std::unique_ptr<LogWriter>> {
    return std::unique_ptr<LogWriter>(
        new LogWriter(std::move(*segments), options, log.position()));
  });
}

LogWriter::LogWriter(std::unique_ptr<SegmentWriter> segments,
                     const LogOptions& options, uint64_t position)
    : segments_(std::move(segments)),
      on_failure_(options.on_failure),
      written_(options.max_batch_bytes),
      batch_(options.max_batch_bytes),
      next_(position),
      durable_(position),
      thread_([this] { Run(); }) {}

LogWriter::~LogWriter() { (void)Close(); }

Result<uint64_t> LogWriter::Append(uint16_t type,
                                   Span<const Span<const uint8_t>> parts) {
  const uint64_t bytes = BytesOf(parts);
  if (bytes > kMaxLogBodyBytes) {
    return InvalidArgument("a log record has at most ", kMaxLogBodyBytes,
                           " bytes. Received: ", bytes);
  }
  RecordHeader header;
  header.body_bytes = static_cast<uint32_t>(bytes);
  header.type = type;
  header.body_crc = BodyCrc(parts);
  std::unique_lock<std::mutex> lock(mutex_);
  room_.wait(lock,
             [&] { return closing_ || !status_.ok() || batch_.Fits(bytes); });
  if (!status_.ok()) return status_;
  if (closing_) return Closed();
  header.position = next_;
  header.safe = durable_;
  const bool is_first = batch_.empty();
  PERSIA_RETURN_IF_ERROR(CatchBadAlloc([&] {
    batch_.Add(header, parts);
    return Status();
  }));
  const uint64_t position = next_++;
  // Unlocks first, so that the thread that is notified next need not wait.
  lock.unlock();
  if (is_first) work_.notify_one();
  return position;
}

void LogWriter::WhenDurable(uint64_t position, DurableCallback done) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ended_) {
    const Status outcome = OutcomeOf(position);
    lock.unlock();
    return done(outcome);
  }
  waiters_.emplace(position, std::move(done));
  // Notifies while the mutex is locked, because a callback may destroy this
  // LogWriter as soon as the mutex is unlocked.
  if (position < durable_ || !status_.ok()) work_.notify_one();
}

uint64_t LogWriter::position() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return next_;
}

LogWriter::Backlog LogWriter::backlog() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {next_ - durable_, status_};
}

Status LogWriter::Close() {
  if (!thread_.joinable()) return close_status_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    work_.notify_one();
    room_.notify_all();
  }
  thread_.join();
  std::lock_guard<std::mutex> lock(mutex_);
  close_status_ = status_.ok() ? segments_->Close() : status_;
  return close_status_;
}

bool LogWriter::HasWork() const {
  if (closing_ || !batch_.empty()) return true;
  if (waiters_.empty()) return false;
  return !status_.ok() || waiters_.begin()->first < durable_;
}

Status LogWriter::OutcomeOf(uint64_t position) const {
  if (position < durable_) return Status();
  return status_.ok() ? Closed() : status_;
}

void LogWriter::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_ || !batch_.empty()) {
    work_.wait(lock, [this] { return HasWork(); });
    if (!batch_.empty()) WriteBatch(&lock);
    CallDue(&lock);
  }
  while (!waiters_.empty()) CallDue(&lock);
  ended_ = true;
}

void LogWriter::WriteBatch(std::unique_lock<std::mutex>* lock) {
  const uint64_t end = next_;
  std::swap(batch_, written_);
  const uint64_t first = durable_;
  room_.notify_all();
  lock->unlock();
  const Status status = segments_->Write(written_.bytes(), first);
  written_.Clear();
  const Status failure = status.ok() ? Status() : Broken(status);
  if (!failure.ok() && on_failure_ != nullptr) on_failure_(failure);
  lock->lock();
  if (failure.ok()) {
    durable_ = end;
    return;
  }
  status_ = failure;
  batch_.Clear();
  room_.notify_all();
}

// Runs the callbacks of records that have become durable, or that can no longer
// become durable.
void LogWriter::CallDue(std::unique_lock<std::mutex>* lock) {
  const bool all = !status_.ok() || (closing_ && batch_.empty());
  const auto end = all ? waiters_.end() : waiters_.lower_bound(durable_);
  Waiters due;
  while (waiters_.begin() != end) {
    due.insert(due.end(), waiters_.extract(waiters_.begin()));
  }
  const uint64_t durable = durable_;
  const Status status = OutcomeOf(durable_);
  lock->unlock();
  for (auto& [position, done] : due) {
    done(position < durable ? Status() : status);
  }
  due.clear();  // Destroys the callbacks while the mutex is unlocked.
  lock->lock();
}

}  // namespace persia
