#include "cc/shard/standby_service.h"

#include <algorithm>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/random_bytes.h"
#include "cc/journal/journal_copy.h"
#include "cc/log/record_visitor.h"
#include "cc/service/await.h"
#include "cc/shard/standby_folder.h"

namespace persia {
namespace {

constexpr EventKind kCopies{"copies of the primary", EventLevel::kInfo, 60};
constexpr EventKind kPromotions{"promotions", EventLevel::kWarning, 60};
constexpr EventKind kFailures{"failures to follow the primary",
                              EventLevel::kWarning, 6};

constexpr double kCallSeconds = 5;
constexpr double kPauseSeconds = 0.2;
constexpr double kTellSeconds = 1;
// How long a standby that its primary has named waits for the record of it.
constexpr double kNamedSeconds = 10;
// The primary answers within this time if it has no new record.
constexpr uint32_t kWaitMs = 1000;

}  // namespace

Result<std::unique_ptr<StandbyService>> StandbyService::Open(
    const StandbyOptions& options) {
  std::unique_ptr<StandbyService> service(new StandbyService(options));
  const auto state = StateOfFolder(options.local.recovery.journal);
  if (!state.ok()) return state.status();
  if (*state == FolderState::kPromoted) {
    auto shard = OpenLocalService(options.local);
    if (!shard.ok()) return shard.status();
    service->promoted_before_ = std::move(*shard);
    service->serving_ = service->promoted_before_.get();
  }
  return service;
}

StandbyService::~StandbyService() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  EndPromotions(Status(Code::kCancelled, "the standby ends"));
}

void StandbyService::Begin(const std::string& address) {
  if (serving_ != nullptr) return;
  address_ = address;
  thread_ = std::thread([this] { Run(); });
}

void StandbyService::Stats(StatsRequest* request, DoneCallback done) {
  if (EmbeddingService* const shard = serving_) {
    return shard->Stats(request, std::move(done));
  }
  ServiceStats stats;
  stats.role = "standby";
  stats.address = "embedded";
  stats.source = options_.primary;
  stats.log_records = position_;
  request->processes.assign(1, std::move(stats));
  done(Status());
}

void StandbyService::Standby(StandbyRequest* request, DoneCallback done) {
  if (request->action != StandbyAction::kPromote) {
    return OtherCall(request, std::move(done));
  }
  if (serving_ != nullptr) return done(Status());
  std::lock_guard<std::mutex> lock(mutex_);
  promotions_.push_back({request->primary_is_gone, std::move(done)});
  changed_.notify_all();
}

void StandbyService::ExchangeTopology(TopologyRequest* request,
                                      DoneCallback done) {
  if (EmbeddingService* const shard = serving_) {
    return shard->ExchangeTopology(request, std::move(done));
  }
  request->member = 0;
  request->topology.clear();
  done(Status());
}

SharedTopology StandbyService::CurrentTopology() const {
  EmbeddingService* const shard = serving_;
  return shard == nullptr ? nullptr : shard->CurrentTopology();
}

void StandbyService::OtherCall(const AnyRequest& request, DoneCallback done) {
  if (EmbeddingService* const shard = serving_) {
    return shard->Call(request, std::move(done));
  }
  done(Status(Code::kStandby,
              Concat("this process is a standby of ", options_.primary,
                     ", which has not been promoted")));
}

void StandbyService::Run() {
  while (serving_ == nullptr) {
    const Status followed = CatchBadAlloc([&] { return Follow(); });
    if (!followed.ok() && followed.code() != Code::kCancelled) {
      TellEvent(options_.local.events, kFailures,
                "this standby cannot follow its primary at present: ",
                followed.message());
    }
    if (serving_ != nullptr) break;
    if (shard_ == nullptr) {
      EndPromotions(
          Status(Code::kFailedPrecondition,
                 Concat("this standby has no copy of ", options_.primary,
                        " yet: ", followed.message())));
    }
    if (!Pause(kPauseSeconds)) return;
  }
  source_ = nullptr;
  Spread();
}

Status StandbyService::Follow() {
  // Whoever says that the primary is gone need not wait for it.
  if (shard_ == nullptr) (void)Open();
  if (shard_ != nullptr) PERSIA_RETURN_IF_ERROR(Promote());
  if (serving_ != nullptr) return Status();
  if (source_ == nullptr) {
    auto source = options_.local.connect(options_.primary);
    if (!source.ok()) return source.status();
    source_ = std::move(*source);
  }
  if (shard_ == nullptr) PERSIA_RETURN_IF_ERROR(Copy());
  while (serving_ == nullptr) {
    if (IsNamed()) return TakePlace();
    PERSIA_RETURN_IF_ERROR(Promote());
    if (serving_ != nullptr || shard_ == nullptr) break;
    const Status followed = FollowOnce();
    if (followed.code() == Code::kNotFound) {
      PERSIA_RETURN_IF_ERROR(Copy());
    } else {
      PERSIA_RETURN_IF_ERROR(followed);
    }
  }
  return Status();
}

// Opens the copy that the folder has, if it has one.
Status StandbyService::Open() {
  const auto state = StateOfFolder(options_.local.recovery.journal);
  if (!state.ok()) return state.status();
  if (*state != FolderState::kCopy) {
    return Status(Code::kNotFound, "there is no copy yet");
  }
  auto shard = OpenReplayedShard(options_.local);
  if (!shard.ok()) return shard.status();
  shard_ = std::move(*shard);
  position_ = shard_->position();
  if (standby_ == 0) {
    const auto number = RandomNonZero();
    if (!number.ok()) return number.status();
    standby_ = *number;
  }
  return Status();
}

// Begins again, from the primary's base.
Status StandbyService::Copy() {
  const JournalOptions& journal = options_.local.recovery.journal;
  StandbyRequest request;
  const auto number = RandomNonZero();
  if (!number.ok()) return number.status();
  request.standby = *number;
  request.action = StandbyAction::kBegin;
  request.address = address_;
  PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
  Close();
  PERSIA_RETURN_IF_ERROR(SetStateOfFolder(journal, FolderState::kCopy));
  PERSIA_RETURN_IF_ERROR(CopyBase(request));
  standby_ = request.standby;
  return Open();
}

Status StandbyService::CopyBase(const StandbyRequest& begun) {
  auto copy =
      JournalCopy::Begin(options_.local.recovery.journal, begun.position);
  if (!copy.ok()) return copy.status();
  StandbyRequest request;
  request.standby = begun.standby;
  request.action = StandbyAction::kBase;
  for (uint64_t copied = 0; copied < begun.base_bytes;
       copied += request.bytes.size()) {
    request.position = copied;
    PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
    if (request.bytes.empty()) {
      return Status(Code::kDataLoss, "the primary's base ends too early");
    }
    PERSIA_RETURN_IF_ERROR((*copy)->Append(request.bytes));
  }
  TellEvent(options_.local.events, kCopies, "copied a base of ",
            begun.base_bytes, " bytes from ", options_.primary);
  return (*copy)->Finish();
}

Status StandbyService::FollowOnce() {
  StandbyRequest request;
  request.action = StandbyAction::kRecords;
  request.standby = standby_;
  request.position = shard_->position();
  const auto crc = shard_->last_crc();
  request.checks = crc.has_value();
  request.last_crc = crc.value_or(0);
  request.wait_ms = was_complete_ ? kWaitMs : 0;
  request.address = address_;
  request.is_complete = was_complete_;
  PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
  const Status replayed = CatchBadAlloc([&] { return Replay(request); });
  if (!replayed.ok()) {
    Close();
    return replayed;
  }
  // What the primary had when it last answered has arrived.
  if (shard_->position() >= end_) was_complete_ = true;
  end_ = request.end;
  return Status();
}

Status StandbyService::Replay(const StandbyRequest& reply) {
  PERSIA_RETURN_IF_ERROR(VisitRecords(
      reply.bytes, reply.position,
      [&](const LogRecord& record) { return shard_->Replay(record); }));
  PERSIA_RETURN_IF_ERROR(shard_->BlockUntilDurable());
  position_ = shard_->position();
  return Status();
}

// Performs what was asked for, if anything was.
Status StandbyService::Promote() {
  bool is_asked = false;
  bool is_gone = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_asked = !promotions_.empty();
    is_gone = IsToldThatPrimaryIsGone();
  }
  if (!is_asked) return Status();
  if (!HasAllRows()) {
    EndPromotions(
        Status(Code::kFailedPrecondition,
               Concat("this standby has not had all rows of ", options_.primary,
                      " yet: wait until it has, or start the primary again")));
    return Status();
  }
  if (is_gone) return TakePlace();
  const Status retired = Retire();
  if (retired.ok()) return TakePlace();
  EndPromotions(
      Status(retired.code(),
             Concat("the primary ", options_.primary,
                    " does not give its place up: ", retired.message(),
                    "; if no program can reach its process any more, promote "
                    "with --primary-is-gone")));
  return retired;
}

// Has the primary give its place up, and receives the rest of its log.
Status StandbyService::Retire() {
  StandbyRequest request;
  request.action = StandbyAction::kRetire;
  request.standby = standby_;
  request.address = address_;
  PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
  const Deadline until = DeadlineAfter(kNamedSeconds);
  while (!IsNamed()) {
    if (Clock::now() >= until) {
      return Status(Code::kDeadlineExceeded,
                    "the end of its log did not arrive");
    }
    PERSIA_RETURN_IF_ERROR(FollowOnce());
  }
  return Status();
}

Status StandbyService::TakePlace() {
  const Status taken = shard_->TakePlace(address_);
  if (!taken.ok()) {
    Close();
    EndPromotions(taken);
    return taken;
  }
  // Without this, the log says so too, and the next start takes the place once
  // more.
  (void)SetStateOfFolder(options_.local.recovery.journal,
                         FolderState::kPromoted);
  serving_ = shard_.get();
  TellEvent(options_.local.events, kPromotions,
            "this standby has taken the place of ", options_.primary);
  EndPromotions(Status());
  return Status();
}

// Tells the other shards, and the former primary. Clients that reach none of
// them learn of it from this process.
void StandbyService::Spread() {
  const SharedTopology topology = shard_->CurrentTopology();
  std::vector<std::string> addresses;
  for (const Member& member : topology->members()) {
    if (!member.has_left) addresses.push_back(member.address);
  }
  addresses.push_back(options_.primary);
  for (const std::string& address : addresses) {
    if (address == address_) continue;
    auto service = options_.local.connect(address);
    if (!service.ok()) continue;
    TopologyRequest request;
    request.deadline = DeadlineAfter(kTellSeconds);
    request.told = topology->Encode();
    (void)Await([&](DoneCallback done) {
      (*service)->ExchangeTopology(&request, std::move(done));
    });
    if (!Pause(0)) return;
  }
}

// Whether the log says that this process is the shard now.
bool StandbyService::IsNamed() const {
  const auto described = shard_->Described();
  return described && (described->incarnation > shard_->incarnation() ||
                       described->address == address_);
}

bool StandbyService::HasAllRows() const {
  const auto described = shard_->Described();
  return was_complete_ || (described && described->standby == address_);
}

Status StandbyService::CallPrimary(StandbyRequest* request, double seconds) {
  if (source_ == nullptr) {
    return Status(Code::kCancelled, "the primary is not waited for any more");
  }
  request->deadline = DeadlineAfter(seconds);
  std::optional<Status> outcome;
  source_->Standby(request, [&](Status status) {
    std::lock_guard<std::mutex> lock(mutex_);
    outcome = std::move(status);
    changed_.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(
      lock, [&] { return outcome || ending_ || IsToldThatPrimaryIsGone(); });
  if (!outcome) {
    lock.unlock();
    source_ = nullptr;  // Completes the call.
    lock.lock();
    changed_.wait(lock, [&] { return outcome.has_value(); });
  }
  return *outcome;
}

bool StandbyService::IsToldThatPrimaryIsGone() const {
  return std::any_of(
      promotions_.begin(), promotions_.end(),
      [](const Promotion& each) { return each.primary_is_gone; });
}

// Returns false if the service ends.
bool StandbyService::Pause(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, DeadlineAfter(seconds), [&] {
    return ending_ || (shard_ != nullptr && IsToldThatPrimaryIsGone());
  });
  return !ending_;
}

void StandbyService::EndPromotions(const Status& outcome) {
  std::vector<Promotion> ended;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ended.swap(promotions_);
  }
  for (const Promotion& promotion : ended) promotion.done(outcome);
}

void StandbyService::Close() {
  shard_ = nullptr;
  was_complete_ = false;
  end_ = kNoEnd;
}

}  // namespace persia
