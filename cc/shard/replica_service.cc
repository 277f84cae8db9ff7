#include "cc/shard/replica_service.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/shard/rows_of_slots.h"

namespace persia {
namespace {

constexpr EventKind kBeginnings{"copies of all rows begun", EventLevel::kInfo,
                                60};
constexpr EventKind kSourceAway{"failures of the source", EventLevel::kWarning,
                                10};
constexpr EventKind kSourceBack{"returns of the source", EventLevel::kInfo, 10};

uint64_t MillisSince(Clock::time_point then) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - then)
          .count());
}

}  // namespace

Result<std::unique_ptr<ReplicaService>> ReplicaService::Start(
    std::unique_ptr<EmbeddingService> source, const ReplicaOptions& options) {
  auto rows = ReplicaRows::Make(options.limits);
  if (!rows.ok()) return rows.status();
  return std::unique_ptr<ReplicaService>(
      new ReplicaService(std::move(source), std::move(*rows), options));
}

ReplicaService::ReplicaService(std::unique_ptr<EmbeddingService> source,
                               std::unique_ptr<ReplicaRows> rows,
                               const ReplicaOptions& options)
    : options_(options),
      rows_(std::move(rows)),
      source_(std::move(source)),
      thread_([this] { Run(); }) {}

ReplicaService::~ReplicaService() {
  std::unique_ptr<EmbeddingService> source;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    ending_ = true;
    wake_.notify_all();
    wake_.wait_until(lock, DeadlineAfter(options_.goodbye_seconds),
                     [this] { return ended_; });
    source = std::move(source_);
  }
  source = nullptr;  // Completes the request that thread_ waits for.
  thread_.join();
}

void ReplicaService::CreateTable(CreateTableRequest* request,
                                 DoneCallback done) {
  const Status status = CheckTable(request->config);
  if (!status.ok()) return done(status);
  CreateTableRequest held;
  held.deadline = request->deadline;
  held.config = ReplicaConfig(request->config);
  // The table exists, so CreateTable only attaches to it.
  const auto service = rows_->serving();
  service->CreateTable(&held, [&](const Status& attached) {
    // No identity is returned. A restore changes it, and one replica may have
    // rows from before a restore and another from after it: a client must be
    // able to use both.
    request->identity = 0;
    request->state = held.state;
    request->rows = held.rows;
    request->generation = held.generation;
    request->takes_bags = rows_->slots()->all;
    request->optimizer = request->config.optimizer.ToString();
    done(attached);
  });
}

Status ReplicaService::CheckTable(const TableConfig& asked) const {
  PERSIA_RETURN_IF_ERROR(asked.Validate());
  const auto held = rows_->SourceConfig(asked.name);
  if (held.has_value()) return CheckSameTable(*held, asked);
  return Status(
      Code::kFailedPrecondition,
      Concat("there is no table \"", asked.name, "\" in this replica of ",
             options_.source, ": create it on the source first"));
}

Status ReplicaService::CheckSlots(const LookupRequest& request) const {
  const auto slots = rows_->slots();
  if (slots->all) return Status();
  // A replica without rows says so table by table.
  const SlotSet& served = slots->served;
  if (served.none()) return Status();
  for (const TableLookup& table : request.tables) {
    for (const int64_t id : table.ids.ids) {
      if (served[SlotOf(id)]) continue;
      return Status(
          Code::kFailedPrecondition,
          Concat("this is a replica of ", options_.source,
                 ", which does not have the rows of slot ", SlotOf(id),
                 ": list one replica of each shard, in the shards' order"));
    }
  }
  return Status();
}

Status ReplicaService::Refusal() const {
  return Status(Code::kFailedPrecondition,
                Concat("this is a replica of ", options_.source,
                       ", which is read-only: train, write and save with ",
                       options_.source, " itself"));
}

void ReplicaService::Lookup(LookupRequest* request, DoneCallback done) {
  if (!request->read_only) return done(Refusal());
  const auto slots = rows_->slots();
  const Status status = CheckSlots(*request);
  if (!status.ok()) return done(status);
  // Rows of slots that the source gives away are removed after the slots are no
  // longer served. So if they are served still, the rows were there.
  rows_->serving()->Lookup(request, [&](Status looked) {
    if (looked.ok() && rows_->slots() != slots) looked = CheckSlots(*request);
    done(std::move(looked));
  });
}

void ReplicaService::Stats(StatsRequest* request, DoneCallback done) {
  rows_->serving()->Stats(request, [&](const Status& status) {
    for (ServiceStats& process : request->processes) {
      process.role = "replica";
      process.source = options_.source;
      process.member = 0;  // It is no shard.
      process.slots = rows_->slots()->served.count();
      if (ready()) process.behind_millis = MillisSince(complete_at_);
    }
    done(status);
  });
}

void ReplicaService::Export(ExportRequest* request, DoneCallback done) {
  rows_->serving()->Export(request, [&](const Status& status) {
    const auto slots = rows_->slots();
    if (status.ok() && ready()) KeepSlots(slots->served, request);
    done(status);
  });
}

void ReplicaService::Changes(ChangesRequest* request, DoneCallback done) {
  const bool ends = request->max_rows == 0;
  const Status current = ends ? Status() : CheckCurrent();
  if (!current.ok()) return done(current);
  rows_->serving()->Changes(request, std::move(done));
}

Status ReplicaService::CheckCurrent() const {
  if (!ready()) {
    return Status(Code::kUnavailable,
                  Concat("this replica has not received all rows of ",
                         options_.source, " yet: try again later"));
  }
  if (is_away_) {
    return Status(
        Code::kUnavailable,
        Concat("this replica does not receive the changes of ", options_.source,
               " at present: try again later, and see the replica's log"));
  }
  return Status();
}

void ReplicaService::ExchangeTopology(TopologyRequest* request,
                                      DoneCallback done) {
  request->member = 0;
  request->topology.clear();
  done(Status());
}

void ReplicaService::OtherCall(const AnyRequest&, DoneCallback done) {
  done(Refusal());
}

void ReplicaService::Run() {
  double backoff = options_.first_backoff_seconds;
  for (;;) {
    const Result<double> pause = FollowOnce();
    if (pause.ok()) {
      backoff = options_.first_backoff_seconds;
      if (!Pause(*pause)) break;
    } else {
      if (!Pause(backoff)) break;
      backoff = std::min(2 * backoff, options_.max_backoff_seconds);
    }
  }
  if (source_answers_) SayGoodbye();
  std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  wake_.notify_all();
}

void ReplicaService::SayGoodbye() {
  ChangesRequest request;
  request.position = rows_->position();
  request.deadline = DeadlineAfter(options_.goodbye_seconds);
  // If the source does not receive this request, it forgets the replica later,
  // when the replica has been idle for minutes.
  (void)CatchBadAlloc([&] { return SendToSource(&request); });
}

Result<double> ReplicaService::FollowOnce() {
  ChangesRequest request;
  request.position = rows_->position();
  request.max_rows = options_.max_rows;
  request.deadline = DeadlineAfter(options_.request_seconds);
  const Clock::time_point asked_at = Clock::now();
  source_answers_ = false;
  const Status status = CatchBadAlloc([&] {
    PERSIA_RETURN_IF_ERROR(SendToSource(&request));
    source_answers_ = true;
    return rows_->Apply(request);
  });
  NoteOutcome(status);
  if (!status.ok()) return status;
  if (request.begins == Begins::kWhole) {
    TellEvent(options_.events, kBeginnings, "began a copy of all rows of ",
              options_.source);
  }
  if (!request.complete) return 0.0;
  // If a table's settings changed, Apply applied nothing and reset the
  // position, so that it has no epoch. The replica is then not complete.
  if (rows_->position().epoch == request.position.epoch) {
    complete_at_ = asked_at;
  }
  return options_.pause_seconds;
}

Status ReplicaService::SendToSource(ChangesRequest* request) {
  std::promise<Status> outcome;
  {
    // The lock is held while the call starts, so that the source is not
    // destroyed meanwhile.
    std::lock_guard<std::mutex> lock(mutex_);
    if (source_ == nullptr) {
      return Status(Code::kCancelled, "the replica ends");
    }
    source_->Changes(
        request, [&](Status status) { outcome.set_value(std::move(status)); });
  }
  return outcome.get_future().get();
}

void ReplicaService::NoteOutcome(const Status& status) {
  if (!status.ok() && !is_away_ && status.code() != Code::kCancelled) {
    TellEvent(options_.events, kSourceAway, "cannot follow ", options_.source,
              ", and answers with the rows that it has: ", status.message());
  }
  if (status.ok() && is_away_) {
    TellEvent(options_.events, kSourceBack, "follows ", options_.source,
              " again");
  }
  is_away_ = !status.ok();
}

bool ReplicaService::Pause(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !wake_.wait_until(lock, DeadlineAfter(seconds),
                           [this] { return ending_; });
}

}  // namespace persia
