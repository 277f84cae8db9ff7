#include "cc/pipeline/session.h"

#include <atomic>
#include <thread>
#include <utility>

#include "cc/base/dedupe.h"
#include "cc/base/hash.h"
#include "cc/pipeline/await.h"
#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/step_ledger.h"

namespace persia {
namespace {

// A lookup on its way. Without duplicates the service writes straight to the
// caller's output; otherwise to `unique_rows`, which are then spread.
struct PendingLookup {
  std::shared_ptr<LookupRecord> record;
  Ticket ticket = 0;
  Span<float> output;
  std::unique_ptr<float[]> unique_rows;
  LookupRequest request;
  TicketCallback done;
};

constexpr size_t kMaxBatchIds = (size_t{1} << 31) - 1;

class SessionImpl : public Session {
 public:
  SessionImpl(std::unique_ptr<EmbeddingService> service,
              const SessionOptions& options)
      : options_(options),
        service_(std::move(service)),
        pushes_(service_.get(), options) {}

  ~SessionImpl() override { PushReleased(ledger_.ReleaseAll()); }

  Result<uint64_t> CreateTable(const TableConfig& config) override {
    CreateTableRequest request;
    request.deadline = NewDeadline();
    request.config = config;
    PERSIA_RETURN_IF_ERROR(Await([&](DoneCallback done) {
      service_->CreateTable(&request, std::move(done));
    }));
    return request.rows;
  }

  void Lookup(const LookupCall& call, TicketCallback done) override {
    if (call.ids.size() > kMaxBatchIds) {
      return done(
          InvalidArgument("layer '", call.layer, "': a batch may have at most ",
                          kMaxBatchIds, " ids, received ", call.ids.size(),
                          "; make batches smaller"),
          0);
    }

    auto pending = std::make_shared<PendingLookup>();
    pending->record = std::make_shared<LookupRecord>();
    pending->record->layer = call.layer;
    pending->record->table = call.table;
    pending->record->dim = call.dim;
    pending->record->unique = Dedupe(call.ids);
    pending->output = call.rows;
    pending->done = std::move(done);
    if (call.training) {
      ++training_lookups_;
      StepLedger::Opened opened = ledger_.Open(pending->record);
      pending->ticket = opened.ticket;
      PushReleased(std::move(opened.released));
      // Commits waited for room already, unless theirs were held until now.
      pushes_.WhenPendingAtMost(call.table, options_.max_pending_pushes,
                                SendLater(std::move(pending)));
    } else {
      ++readonly_lookups_;
      PushReleased(ledger_.ReleaseAll());
      pushes_.WhenAcknowledged(SendLater(std::move(pending)));
    }
  }

  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients) override {
    PERSIA_RETURN_IF_ERROR(pushes_.error());
    return ledger_.Stage(layer, ticket, std::move(gradients));
  }

  void Commit(const std::string& layer, float learning_rate,
              DoneCallback done) override {
    const Status error = pushes_.error();
    if (!error.ok()) return done(error);
    auto committed = ledger_.Commit(layer, learning_rate);
    if (!committed.ok()) return done(committed.status());
    if (committed->took_any) ++committed_;
    if (committed->released.empty()) return done(Status());

    const TableKey table = committed->released.front().table;
    PushReleased(std::move(committed->released));
    pushes_.WhenPendingAtMost(table, options_.max_pending_pushes,
                              Lend(&callbacks_, std::move(done)));
  }

  Status Flush() override {
    PushReleased(ledger_.ReleaseAll());
    return pushes_.Flush();
  }

  SessionCounters Counters() const override {
    const PushQueue::Counters pushes = pushes_.counters();
    SessionCounters counters;
    counters.training_lookups = training_lookups_;
    counters.readonly_lookups = readonly_lookups_;
    counters.committed = committed_;
    counters.discarded = ledger_.discarded();
    counters.pushed = pushes.pushed;
    counters.nonfinite = pushes.nonfinite;
    counters.absent = pushes.absent;
    return counters;
  }

  Status Stats(std::vector<ServiceStats>* processes) override {
    StatsRequest request;
    request.deadline = NewDeadline();
    PERSIA_RETURN_IF_ERROR(Await([&](DoneCallback done) {
      service_->Stats(&request, std::move(done));
    }));
    *processes = std::move(request.processes);
    return Status();
  }

  Status Export(ExportRequest* request) override {
    return Ask(&EmbeddingService::Export, request);
  }

  Status Assign(AssignRequest* request) override {
    return Ask(&EmbeddingService::Assign, request);
  }

  Status Remove(RemoveRequest* request) override {
    return Ask(&EmbeddingService::Remove, request);
  }

 private:
  Deadline NewDeadline() const {
    return DeadlineAfter(options_.timeout_seconds);
  }

  template <typename Request>
  Status Ask(void (EmbeddingService::*call)(Request*, DoneCallback),
             Request* request) {
    request->deadline = NewDeadline();
    return Await([&](DoneCallback done) {
      (service_.get()->*call)(request, std::move(done));
    });
  }

  void PushReleased(std::vector<TableStep> released) {
    for (TableStep& step : released) pushes_.Push(std::move(step));
  }

  DoneCallback SendLater(std::shared_ptr<PendingLookup> pending) {
    return Lend(&senders_, [this, pending = std::move(pending)](Status status) {
      if (!status.ok()) return Finish(pending, std::move(status));
      Send(pending);
    });
  }

  void Send(std::shared_ptr<PendingLookup> pending) {
    const LookupRecord& record = *pending->record;
    if (record.unique.ids.empty()) return Finish(pending, Status());
    TableLookup lookup;
    lookup.ids.table = record.table;
    lookup.ids.dim = record.dim;
    lookup.ids.ids = record.unique.ids;
    if (record.unique.had_duplicates()) {
      const size_t floats = record.unique.ids.size() * record.dim;
      pending->unique_rows.reset(new float[floats]);
      lookup.rows = Span<float>(pending->unique_rows.get(), floats);
    } else {
      lookup.rows = pending->output;
    }
    LookupRequest* request = &pending->request;
    request->tables = {lookup};
    request->read_only = pending->ticket == 0;
    request->deadline = NewDeadline();
    service_->Lookup(
        request,
        Lend(&callbacks_, [this, pending = std::move(pending)](Status status) {
          Finish(pending, std::move(status));
        }));
  }

  void Finish(const std::shared_ptr<PendingLookup>& pending, Status status) {
    if (!status.ok()) return pending->done(std::move(status), 0);
    LookupRecord& record = *pending->record;
    record.generation = pending->request.generation;
    if (record.unique.had_duplicates()) {
      ExpandRows(record.unique, pending->request.tables[0].rows, record.dim,
                 pending->output);
    }
    pending->done(Status(), pending->ticket);
  }

  // `done` on the calling thread if the outcome is known before it returns,
  // otherwise on one of `threads`, where its captures end too. To be called
  // once.
  static DoneCallback Lend(CallbackThreads* threads, DoneCallback done) {
    const std::thread::id caller = std::this_thread::get_id();
    return [threads, caller, done = std::move(done)](Status status) mutable {
      if (std::this_thread::get_id() == caller) return done(std::move(status));
      threads->Run([done = std::move(done), status = std::move(status)] {
        done(status);
      });
    };
  }

  const SessionOptions options_;
  std::atomic<uint64_t> training_lookups_{0};
  std::atomic<uint64_t> readonly_lookups_{0};
  std::atomic<uint64_t> committed_{0};
  StepLedger ledger_;
  // Destroyed in reverse: pushes are sent, then the lookups that waited for
  // them, then outstanding calls of the service are completed, then their
  // callbacks run.
  CallbackThreads callbacks_;
  std::unique_ptr<EmbeddingService> service_;
  CallbackThreads senders_;
  PushQueue pushes_;
};

}  // namespace

std::unique_ptr<Session> MakeSession(std::unique_ptr<EmbeddingService> service,
                                     const SessionOptions& options) {
  return std::make_unique<SessionImpl>(std::move(service), options);
}

}  // namespace persia
