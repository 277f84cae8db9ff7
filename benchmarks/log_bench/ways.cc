#include "benchmarks/log_bench/ways.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

// Limits the number of records in flight.
class Window {
 public:
  explicit Window(size_t size) : size_(size) {}

  void Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return entered_ - left_ < size_; });
    ++entered_;
  }

  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++left_;
    changed_.notify_all();
  }

  size_t WaitForAll() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return entered_ == left_; });
    return left_;
  }

 private:
  const size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t entered_ = 0;  // Guarded by mutex_.
  size_t left_ = 0;     // Guarded by mutex_.
};

template <typename T>
T ValueOf(Result<T> result) {
  CheckOk(result.status());
  return std::move(*result);
}

void RemoveAll(const LogPlace& place) {
  for (const Segment& segment : ValueOf(ListSegments(place))) {
    CheckOk(place.files->Remove(segment.path));
  }
}

}  // namespace

double Log(const Load& load, SyncMode sync) {
  const LogPlace place{LocalFiles(), load.folder};
  const auto end = ValueOf(LogReader::Open(place, 0));
  LogOptions options;
  options.segments.sync = sync;
  const auto log = ValueOf(LogWriter::Open(*end, options));
  const Span<const uint8_t> part(load.record);
  Window window(load.in_flight);
  const double begin = Now();
  while (Now() - begin < load.seconds) {
    window.Enter();
    const uint64_t position = ValueOf(log->Append(1, {&part, 1}));
    log->WhenDurable(position, [&window](const Status& status) {
      CheckOk(status);
      window.Leave();
    });
  }
  const size_t records = window.WaitForAll();
  const double seconds = Now() - begin;
  CheckOk(log->Close());
  RemoveAll(place);
  return static_cast<double>(records * load.record.size()) / seconds;
}

double PlainLoop(const Load& load, bool syncs) {
  const std::string path = load.folder + "/plain";
  const auto file = ValueOf(LocalFiles()->Create(path));
  size_t records = 0;
  const double begin = Now();
  double seconds = 0;
  while (seconds < load.seconds) {
    CheckOk(file->Append(load.record));
    if (syncs) CheckOk(file->Sync());
    ++records;
    seconds = Now() - begin;
  }
  CheckOk(file->Close());
  CheckOk(LocalFiles()->Remove(path));
  return static_cast<double>(records * load.record.size()) / seconds;
}

}  // namespace persia::bench
