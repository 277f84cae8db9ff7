#include "cc/saving/base_keeper.h"

#include <chrono>
#include <memory>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/writing/journal_records.h"

namespace persia {
namespace {

// How long after a failed attempt the thread tries again to write the base.
constexpr std::chrono::seconds kPause(30);

constexpr EventKind kBases{"bases of the log", EventLevel::kInfo, 10};
constexpr EventKind kFailedBases{"failed bases of the log", EventLevel::kError,
                                 10};

CutRecord CutOf(const Store& store, uint64_t generation) {
  CutRecord cut;
  cut.generation = generation;
  for (const Table* table : store.All()) {
    cut.tables.push_back(
        {HashName(table->config().name), table->identity(), table->Rounded()});
  }
  return cut;
}

}  // namespace

BaseKeeper::BaseKeeper(const Subject& subject)
    : subject_(subject), thread_([this] { Run(); }) {}

BaseKeeper::~BaseKeeper() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    progress_.cancelled = true;
    wake_.notify_one();
  }
  thread_.join();
}

void BaseKeeper::WakeUp() {
  std::lock_guard<std::mutex> lock(mutex_);
  // Check again, under the lock: the thread may have completed a base after the
  // caller checked.
  if (!subject_.journal->wants_base()) return;
  due_ = true;
  wake_.notify_one();
}

void BaseKeeper::LookAtOnce() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    failure_ = Status();
    is_hurried_ = true;
  }
  Look();
}

Status BaseKeeper::failure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void BaseKeeper::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return due_ || ending_; });
    if (ending_) return;
    due_ = false;
    is_hurried_ = false;
    progress_.rows = 0;
    progress_.bytes = 0;
    progress_.cancelled = false;
    lock.unlock();
    const Status made = CatchBadAlloc([&] { return Make(); });
    lock.lock();
    failure_ = made;
    if (made.ok()) {
      // A Look() during the work may have set due_ because of log records that
      // this base has replaced, so due_ is computed again.
      due_ = subject_.journal->wants_base();
      continue;
    }
    due_ = true;
    if (ending_) return;
    TellEvent(subject_.events, kFailedBases,
              "the base of the log could not be written, so the log keeps "
              "growing: ",
              made.message());
    wake_.wait_for(lock, kPause, [this] { return ending_ || is_hurried_; });
  }
}

Status BaseKeeper::Make() {
  FrozenStore frozen(subject_.requests);
  ShardHeader shard;
  uint64_t position = 0;
  PERSIA_RETURN_IF_ERROR(Freeze(&frozen, &shard, &position));
  // Older records are removed once the base is there, so all that the base
  // lacks must be durable before.
  PERSIA_RETURN_IF_ERROR(
      subject_.journal->BlockUntilDurable(subject_.journal->position()));
  PERSIA_RETURN_IF_ERROR(subject_.journal->WriteBase(
      position, shard, frozen.tables, frozen.clients, &progress_));
  TellEvent(subject_.events, kBases, "wrote a base of the log with ",
            progress_.rows, " rows, ", progress_.bytes,
            " bytes; older records were removed");
  return Status();
}

Status BaseKeeper::Freeze(FrozenStore* frozen, ShardHeader* shard,
                          uint64_t* position) {
  const Gate::Closed closed(subject_.gate);
  const OwnShard own = subject_.own();
  shard->member = own.member;
  shard->slots = own.slots;
  PERSIA_RETURN_IF_ERROR(
      persia::Freeze(*subject_.store, *subject_.window, frozen));
  const auto logged =
      Append(RecordBody::Cut(CutOf(*subject_.store, *subject_.generation)),
             subject_.journal);
  if (!logged.ok()) return logged.status();
  *position = *logged;
  return subject_.log_more(own.unswept);
}

}  // namespace persia
