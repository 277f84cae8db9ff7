#include "cc/shard/standby_service.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/random_bytes.h"
#include "cc/journal/journal_copy.h"
#include "cc/log/record_visitor.h"
#include "cc/service/await_topology.h"
#include "cc/shard/ask_standby.h"
#include "cc/writing/journal_records.h"

namespace persia {
namespace {

constexpr EventKind kCopies{"copies of the primary", EventLevel::kInfo, 60};
constexpr EventKind kPromotions{"promotions", EventLevel::kWarning, 60};
constexpr EventKind kFailures{"failures to follow the primary",
                              EventLevel::kWarning, 6};

constexpr double kCallSeconds = 5;
constexpr double kPauseSeconds = 0.2;
constexpr double kTellSeconds = 1;
constexpr double kMostSpreadPauseSeconds = 30;
// How long a standby that its primary has named waits for the record of it.
constexpr double kNamedSeconds = 10;
// The primary answers within this time if it has no new record. A promotion
// beside a primary that is alive begins as much later.
constexpr uint32_t kWaitMs = 100;

}  // namespace

Result<std::unique_ptr<StandbyService>> StandbyService::Open(
    const StandbyOptions& options) {
  std::unique_ptr<StandbyService> service(new StandbyService(options));
  const JournalOptions& journal = options.local.recovery.journal;
  PERSIA_RETURN_IF_ERROR(CheckFolderOfStandby(journal));
  const auto state = StateOfFolder(journal);
  if (!state.ok()) return state.status();
  if (*state == FolderState::kPromoted) {
    auto shard = OpenLocalService(options.local);
    if (!shard.ok()) return shard.status();
    AskStandby(shard->get(), options.local.connect, options.local.events);
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
  std::unique_lock<std::mutex> lock(mutex_);
  if (serving_ != nullptr) {
    lock.unlock();
    return done(Status());
  }
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
  if (shard_ == nullptr) {
    const Status opened = OpenCopy();
    // What cannot be opened at present is no reason to begin again.
    const bool is_missing =
        opened.code() == Code::kNotFound || opened.code() == Code::kDataLoss;
    if (!opened.ok() && !is_missing) return opened;
  }
  if (shard_ != nullptr) {
    if (state_ == FolderState::kTaking) return TakePlace();
    // Whoever says that the primary is gone need not wait for it.
    PERSIA_RETURN_IF_ERROR(Promote());
  }
  if (serving_ != nullptr) return Status();
  if (source_ == nullptr) {
    auto source = options_.local.connect(options_.primary);
    if (!source.ok()) return source.status();
    source_ = std::move(*source);
  }
  if (shard_ == nullptr) PERSIA_RETURN_IF_ERROR(Copy());
  while (serving_ == nullptr) {
    if (is_named_) return TakePlace();
    if (state_ == FolderState::kWhole && IsReplaced()) {
      return Status(Code::kFailedPrecondition,
                    Concat("another standby, at ", shard_->Described()->address,
                           ", has taken the primary's place: start this one as "
                           "its standby, with an empty recovery folder"));
    }
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

// Opens the copy that the folder has; kNotFound if it has none.
Status StandbyService::OpenCopy() {
  const auto state = StateOfFolder(options_.local.recovery.journal);
  if (!state.ok()) return state.status();
  if (*state == FolderState::kNone) {
    return Status(Code::kNotFound, "there is no copy yet");
  }
  auto shard = OpenReplayedShard(options_.local);
  if (!shard.ok()) return shard.status();
  state_ = *state;
  shard_ = std::move(*shard);
  is_named_ = state_ == FolderState::kWhole && NamesThis();
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
  StandbyRequest request;
  const auto number = RandomNonZero();
  if (!number.ok()) return number.status();
  request.standby = *number;
  request.action = StandbyAction::kBegin;
  request.address = address_;
  PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
  PERSIA_RETURN_IF_ERROR(CheckPrimary(request));
  Close();
  PERSIA_RETURN_IF_ERROR(
      SetStateOfFolder(options_.local.recovery.journal, FolderState::kCopying));
  PERSIA_RETURN_IF_ERROR(CopyBase(request));
  standby_ = request.standby;
  return OpenCopy();
}

Status StandbyService::CheckPrimary(const StandbyRequest& begun) const {
  const auto described = shard_ == nullptr ? std::nullopt : shard_->Described();
  if (!described || state_ == FolderState::kCopying) return Status();
  if (begun.member == described->id && begun.end >= shard_->position()) {
    return Status();
  }
  return Status(
      Code::kFailedPrecondition,
      Concat("the primary ", options_.primary,
             " has lost rows that this standby has: let the standby take its "
             "place, with persia promote --primary-is-gone, or give the "
             "standby an empty recovery folder"));
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
  request.is_complete = state_ != FolderState::kCopying;
  request.wait_ms = request.is_complete ? kWaitMs : 0;
  request.address = address_;
  PERSIA_RETURN_IF_ERROR(CallPrimary(&request, kCallSeconds));
  const Status replayed = CatchBadAlloc([&] { return Replay(request); });
  if (!replayed.ok()) {
    Close();
    return replayed;
  }
  // What the primary had when it last answered has arrived.
  const bool is_whole = shard_->position() >= end_;
  end_ = request.end;
  if (!is_whole || request.is_complete) return Status();
  state_ = FolderState::kWhole;
  return SetStateOfFolder(options_.local.recovery.journal, state_);
}

// Once this standby is the shard, what its primary still logs does not count. A
// copy that is not whole yet reads of what happened before: of places that were
// taken, perhaps by a process at this one's address.
Status StandbyService::Replay(const StandbyRequest& reply) {
  PERSIA_RETURN_IF_ERROR(
      VisitRecords(reply.bytes, reply.position, [&](const LogRecord& record) {
        if (is_named_) return Status();
        const bool may_name =
            static_cast<RecordType>(record.type) == RecordType::kTopology &&
            HasAllRows();
        PERSIA_RETURN_IF_ERROR(shard_->Replay(record));
        is_named_ = may_name && NamesThis();
        return Status();
      }));
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
  while (!is_named_) {
    if (Clock::now() >= until) {
      return Status(Code::kDeadlineExceeded,
                    "the end of its log did not arrive");
    }
    PERSIA_RETURN_IF_ERROR(FollowOnce());
  }
  return Status();
}

// After a crash meanwhile, the next start takes the place.
Status StandbyService::TakePlace() {
  const JournalOptions& journal = options_.local.recovery.journal;
  Status taken = SetStateOfFolder(journal, FolderState::kTaking);
  if (taken.ok()) taken = shard_->TakePlace(address_);
  if (!taken.ok()) {
    Close();
    EndPromotions(taken);
    return taken;
  }
  (void)SetStateOfFolder(journal, FolderState::kPromoted);
  serving_ = shard_.get();
  TellEvent(options_.local.events, kPromotions,
            "this standby has taken the place of ", options_.primary);
  EndPromotions(Status());
  return Status();
}

// Tells the other shards, and the former primary, until all have answered.
// Clients that do not know this process ask the others. The former primary, if
// it lives, must stop to serve. A process that is started again does not know
// whether all were told.
void StandbyService::Spread() {
  std::set<std::string> told = {address_};
  bool is_done = false;
  for (double pause = 0; !is_done && Pause(pause);
       pause = std::clamp(2 * pause, kPauseSeconds, kMostSpreadPauseSeconds)) {
    const Status round = CatchBadAlloc([&] {
      is_done = TellAll(&told);
      return Status();
    });
    if (!round.ok()) {
      TellEvent(options_.local.events, kFailures,
                "the other shards do not all know yet that this one has taken "
                "its primary's place: ",
                round.message());
    }
  }
}

// Tells those that were not told yet. Returns whether all were.
bool StandbyService::TellAll(std::set<std::string>* told) {
  std::set<std::string> addresses = {options_.primary};
  for (const Member& member : CurrentTopology()->members()) {
    if (!member.has_left) addresses.insert(member.address);
  }
  bool are_all_told = true;
  for (const std::string& address : addresses) {
    if (told->count(address) > 0) continue;
    if (!Pause(0)) return false;
    if (ExchangeWith(address)) {
      told->insert(address);
    } else {
      are_all_told = false;
    }
  }
  return are_all_told;
}

// Returns whether the shard at the address has answered.
bool StandbyService::ExchangeWith(const std::string& address) {
  auto service = options_.local.connect(address);
  if (!service.ok()) return false;
  TopologyRequest request;
  request.told = CurrentTopology()->Encode();
  const Status told = AwaitTopology(service->get(), kTellSeconds, &request);
  if (!told.ok()) return !IsOutage(told);
  if (request.topology.empty()) return true;
  TopologyRequest own;
  own.told = request.topology;
  (void)AwaitTopology(serving_.load(), kTellSeconds, &own);
  return true;
}

bool StandbyService::IsReplaced() const {
  const auto described = shard_->Described();
  return described && described->incarnation > shard_->incarnation();
}

bool StandbyService::NamesThis() const {
  return IsReplaced() && shard_->Described()->address == address_;
}

bool StandbyService::HasAllRows() const {
  const auto described = shard_->Described();
  return state_ == FolderState::kWhole && described &&
         described->standby == address_;
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
  state_ = FolderState::kNone;
  is_named_ = false;
  end_ = kNoEnd;
}

}  // namespace persia
