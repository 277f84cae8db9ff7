#include "cc/shard/standby_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/log/record_visitor.h"

namespace persia {
namespace {

constexpr EventKind kStandbys{"changes of the standby", EventLevel::kInfo, 60};
constexpr EventKind kLostStandbys{"silent standbys", EventLevel::kWarning, 60};

// After this time without a request, the primary no longer retains its log for
// a standby: for one that loads the base, and for one that replays records, of
// which some name a checkpoint to read.
constexpr std::chrono::minutes kMostLoading(120);
constexpr std::chrono::minutes kMostSilent(10);
// After this time another standby may take its place.
constexpr std::chrono::seconds kReplaceable(10);

Status Unknown(const std::string& why) {
  return Status(Code::kNotFound, why + ": the standby must begin again");
}

}  // namespace

StandbyFeed::StandbyFeed(const Subject& subject)
    : subject_(subject), thread_([this] { Run(); }) {}

StandbyFeed::~StandbyFeed() {
  {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->ending = true;
    shared_->changed.notify_all();
  }
  thread_.join();
  const Status ended(Code::kCancelled, "the shard ends");
  for (const Call& call : shared_->calls) call.done(ended);
}

void StandbyFeed::Do(StandbyRequest* request, DoneCallback done) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->calls.push_back({request, std::move(done)});
  shared_->changed.notify_all();
}

void StandbyFeed::Run() {
  for (;;) {
    const auto call = Next();
    if (!call) return;
    call->done(CatchBadAlloc([&] { return Serve(call->request); }));
  }
}

std::optional<StandbyFeed::Call> StandbyFeed::Next() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  const auto is_due = [&] {
    return shared_->ending || !shared_->calls.empty();
  };
  const Clock::duration most_silent =
      reads_records_ ? Clock::duration(kMostSilent) : kMostLoading;
  while (!is_due()) {
    if (standby_ == 0) {
      shared_->changed.wait(lock, is_due);
    } else if (!shared_->changed.wait_until(lock, heard_at_ + most_silent,
                                            is_due)) {
      Forget();
    }
  }
  if (shared_->ending) return std::nullopt;
  Call call = std::move(shared_->calls.front());
  shared_->calls.pop_front();
  return call;
}

void StandbyFeed::Forget() {
  TellEvent(subject_.events, kLostStandbys,
            "the standby has been silent for long: its part of the log is no "
            "longer retained");
  standby_ = 0;
  base_ = nullptr;
  tail_.reset();
  subject_.journal->Retain(Journal::kRetainNothing);
}

Status StandbyFeed::Serve(StandbyRequest* request) {
  if (request->action == StandbyAction::kPromote) {
    return Status(Code::kFailedPrecondition,
                  "this process is a shard, and no standby");
  }
  if (request->standby == 0) {
    return InvalidArgument("standby must not be 0");
  }
  switch (request->action) {
    case StandbyAction::kBegin:
      return Begin(request);
    case StandbyAction::kBase:
      return SendBase(request);
    case StandbyAction::kRecords:
      return SendRecords(request);
    case StandbyAction::kRetire:
      PERSIA_RETURN_IF_ERROR(CheckSession(*request));
      return subject_.membership->Retire(request->address);
    case StandbyAction::kPromote:
      break;
  }
  return InvalidArgument("unknown action of a standby");
}

Status StandbyFeed::CheckSession(const StandbyRequest& request) {
  if (request.standby != standby_) {
    return Unknown("this shard does not know the standby");
  }
  heard_at_ = Clock::now();
  return Status();
}

Status StandbyFeed::Begin(StandbyRequest* request) {
  PERSIA_RETURN_IF_ERROR(CheckFree(*request));
  const auto own = subject_.ownership->Own();
  if (subject_.ownership->IsReplaced()) {
    return Status(
        Code::kFailedPrecondition,
        Concat("a standby has taken this shard's place: be a standby of ",
               own->address));
  }
  if (own && own->address == request->address) {
    return InvalidArgument(
        "the address of a standby must be another one than its primary's, "
        "received ",
        request->address);
  }
  auto base = subject_.journal->BeginCopy();
  if (!base.ok()) return base.status();
  standby_ = request->standby;
  address_ = request->address;
  heard_at_ = Clock::now();
  base_ = std::move(base->file);
  base_offset_ = 0;
  tail_.emplace(subject_.journal->place(), base->position);
  reads_records_ = false;
  request->member = subject_.ownership->member();
  request->end = subject_.journal->position();
  request->position = base->position;
  request->base_bytes = base->bytes;
  return Status();
}

Status StandbyFeed::SendBase(StandbyRequest* request) {
  PERSIA_RETURN_IF_ERROR(CheckSession(*request));
  if (base_ == nullptr || request->position != base_offset_) {
    return Unknown("the base is read from its beginning to its end");
  }
  request->bytes.resize(StandbyRequest::kMostBytes);
  const auto read = base_->Read(request->bytes);
  if (!read.ok()) return read.status();
  request->bytes.resize(*read);
  base_offset_ += *read;
  return Status();
}

Status StandbyFeed::SendRecords(StandbyRequest* request) {
  if (request->standby != standby_) {
    PERSIA_RETURN_IF_ERROR(OpenTail(*request));
  }
  PERSIA_RETURN_IF_ERROR(CheckSession(*request));
  if (request->position > subject_.journal->durable()) {
    return Unknown("this shard's log ends before that of the standby");
  }
  base_ = nullptr;
  reads_records_ = true;
  subject_.journal->Retain(request->position);
  PERSIA_RETURN_IF_ERROR(Register(*request));
  // One that the cluster does not know is not promoted for this shard.
  const auto own = subject_.ownership->Own();
  if (own && own->standby == request->address) {
    subject_.acknowledgements->Advance(request->position);
  }
  // The reply to an earlier request may have been lost.
  if (tail_->position() != request->position) {
    tail_.emplace(subject_.journal->place(), request->position);
  }
  PERSIA_RETURN_IF_ERROR(WaitForRecord(*request));
  request->bytes.clear();
  const Status read = tail_->Read(subject_.journal->durable(),
                                  StandbyRequest::kMostBytes, &request->bytes);
  request->end = subject_.journal->position();
  return read.code() == Code::kNotFound ? Unknown(read.message()) : read;
}

// Goes on with a standby that this process does not know, since it was started
// after the standby had begun.
Status StandbyFeed::OpenTail(const StandbyRequest& request) {
  PERSIA_RETURN_IF_ERROR(CheckFree(request));
  if (request.position > subject_.journal->durable()) {
    return Unknown("this shard's log ends before that of the standby");
  }
  PERSIA_RETURN_IF_ERROR(CheckLast(request));
  tail_.emplace(subject_.journal->place(), request.position);
  standby_ = request.standby;
  address_ = request.address;
  return Status();
}

// Refuses a second standby beside one that was heard of lately.
Status StandbyFeed::CheckFree(const StandbyRequest& request) const {
  const bool is_free = standby_ == 0 || standby_ == request.standby ||
                       address_ == request.address ||
                       Clock::now() >= heard_at_ + kReplaceable;
  if (is_free) return Status();
  return Status(Code::kFailedPrecondition,
                Concat("this shard has a standby at ", address_,
                       " already, and can have only one"));
}

Status StandbyFeed::CheckLast(const StandbyRequest& request) {
  if (request.position == 0) return Status();
  if (!request.checks) return Unknown("nothing shows that the logs agree");
  LogTail last(subject_.journal->place(), request.position - 1);
  std::vector<uint8_t> bytes;
  const Status read = last.Read(request.position, 1, &bytes);
  if (!read.ok()) return Unknown(read.message());
  uint32_t crc = 0;
  PERSIA_RETURN_IF_ERROR(
      VisitRecords(bytes, request.position - 1, [&](const LogRecord& record) {
        crc = BodyCrc({&record.body, 1});
        return Status();
      }));
  return crc == request.last_crc
             ? Status()
             : Unknown("the standby has another log than this shard");
}

Status StandbyFeed::WaitForRecord(const StandbyRequest& request) {
  const Deadline until =
      std::min(request.deadline,
               Clock::now() + std::chrono::milliseconds(request.wait_ms));
  const auto has_record = [&] {
    return subject_.journal->durable() > request.position;
  };
  std::unique_lock<std::mutex> lock(shared_->mutex);
  const auto ends = [&] {
    return shared_->ending || !shared_->calls.empty() || has_record() ||
           !shared_->log.ok();
  };
  while (!ends() && Clock::now() < until) {
    if (!std::exchange(shared_->watches_log, true)) {
      lock.unlock();
      subject_.journal->WhenDurable(
          request.position + 1, [shared = shared_](const Status& log) {
            std::lock_guard<std::mutex> told(shared->mutex);
            shared->watches_log = false;
            shared->log = log;
            shared->changed.notify_all();
          });
      lock.lock();
    }
    shared_->changed.wait_until(
        lock, until, [&] { return ends() || !shared_->watches_log; });
  }
  return has_record() ? Status() : shared_->log;
}

// Names the standby to the cluster, once it has all rows.
Status StandbyFeed::Register(const StandbyRequest& request) {
  const std::string& address = request.address;
  const auto own = subject_.ownership->Own();
  if (!request.is_complete || address.empty() || !own ||
      subject_.ownership->IsReplaced() || own->standby == address) {
    return Status();
  }
  PERSIA_RETURN_IF_ERROR(subject_.membership->SetStandby(address));
  TellEvent(subject_.events, kStandbys, "this shard has a standby at ",
            address);
  return Status();
}

}  // namespace persia
