#include "cc/pipeline/session.h"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"
#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/done_of_all.h"
#include "cc/pipeline/feedback_service.h"
#include "cc/pipeline/layer_name.h"
#include "cc/pipeline/lookup_sender.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/residual_files.h"
#include "cc/pipeline/step_ledger.h"
#include "cc/service/await.h"
#include "cc/service/caching_service.h"
#include "cc/service/naming_service.h"
#include "cc/service/pooling.h"

namespace persia {
namespace {

// Layers whose tables were dropped, and the error with which calls of such a
// layer fail. Thread-safe. While there are none, a check costs one atomic load.
class RetiredLayers {
 public:
  void Add(const std::string& layer, const Status& why) {
    std::lock_guard<std::mutex> lock(mutex_);
    layers_[layer] = why;
    any_ = true;
  }

  // Returns the error of a retired layer, or ok for any other layer.
  Status Check(const std::string& layer) const {
    if (!any_.load(std::memory_order_acquire)) return Status();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = layers_.find(layer);
    return found == layers_.end() ? Status() : found->second;
  }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Status> layers_;  // Guarded by mutex_.
};

constexpr size_t kMaxBatchIds = (size_t{1} << 31) - 1;

Status CheckIds(const std::string& layer, const TableIds& ids) {
  if (ids.ids.size() > kMaxBatchIds) {
    return InvalidArgument("layer '", ShownLayer(layer),
                           "': a batch must have at most ", kMaxBatchIds,
                           " ids, received ", ids.ids.size(),
                           "; use smaller batches");
  }
  const Status status = CheckBags(ids);
  if (status.ok()) return status;
  return Status(status.code(),
                Concat("layer '", ShownLayer(layer), "': ", status.message()));
}

// Whether each lookup has room for its rows.
Status CheckRoom(Span<const WantedRows> wanted) {
  for (const WantedRows& each : wanted) {
    const LookupPlan& plan = *each.lookup->plan();
    if (each.rows.Holds(plan.vectors(), plan.dim)) continue;
    return InvalidArgument(
        "layer '", ShownLayer(plan.layer), "' looks up ", plan.vectors(), " x ",
        plan.dim, " numbers, received room for ", each.rows.values().size());
  }
  return Status();
}

// Returns a wrapper of `done`, which may be called once. If the wrapper is
// called on the thread that called Lend, `done` runs there. Otherwise `done`
// runs, and its captures are destroyed, on one of `threads`.
DoneCallback Lend(CallbackThreads* threads, DoneCallback done) {
  const std::thread::id caller = std::this_thread::get_id();
  return [threads, caller, done = std::move(done)](Status status) mutable {
    if (std::this_thread::get_id() == caller) return done(std::move(status));
    threads->Run(
        [done = std::move(done), status = std::move(status)] { done(status); });
  };
}

// Whether a commit that releases `group` completes only when the group's update
// is acknowledged.
bool IsSynchronous(const StepGroup& group, int unless_prefetched) {
  for (const TableStep& step : group) {
    for (const StagedGradients& part : step.parts) {
      if (part.plan->staleness(unless_prefetched) == 0) return true;
    }
  }
  return false;
}

std::vector<TableKey> TablesOf(const StepGroup& group) {
  std::vector<TableKey> tables;
  for (const TableStep& step : group) tables.push_back(step.table);
  return tables;
}

// Wraps the service so that errors name tables. If the options say so,
// gradients get error feedback, and hot rows are cached.
std::unique_ptr<EmbeddingService> MakeService(
    std::unique_ptr<EmbeddingService> service, const SessionOptions& options,
    FeedbackService** feedback, const CachingService** cache) {
  if (options.residual_rows > 0) {
    auto feeding = std::make_unique<FeedbackService>(std::move(service),
                                                     options.residual_rows);
    *feedback = feeding.get();
    service = std::move(feeding);
  }
  service = std::make_unique<NamingService>(std::move(service));
  if (options.hot_rows == 0) return service;
  CacheOptions cached;
  cached.rows = options.hot_rows;
  auto caching = std::make_unique<CachingService>(std::move(service), cached);
  *cache = caching.get();
  return caching;
}

class SessionImpl : public Session {
 public:
  SessionImpl(std::unique_ptr<EmbeddingService> service,
              const SessionOptions& options)
      : options_(options),
        service_(MakeService(std::move(service), options, &feedback_, &cache_)),
        pushes_(
            service_.get(), options.timeout_seconds,
            [this](DoneCallback done) {
              return Lend(&senders_, std::move(done));
            },
            &fetchers_, &staleness_),
        lookups_(service_.get(), &pushes_, &senders_, &fetchers_, &staleness_,
                 options) {}

  // Callbacks that wait for pushes run on threads of senders_. As the last
  // member, senders_ is destroyed first: its threads are joined while
  // everything that they use still exists.
  ~SessionImpl() override {
    pushes_.Push(ledger_.ReleaseAll());
    lookups_.Stop();
    pushes_.Stop();
  }

  Status CreateTable(CreateTableRequest* request) override {
    request->deadline = NewDeadline();
    PERSIA_RETURN_IF_ERROR(Await([&](DoneCallback done) {
      service_->CreateTable(request, std::move(done));
    }));
    if (options_.send_bags && options_.hot_rows == 0 && request->takes_bags) {
      lookups_.SendBagsOf(HashName(request->config.name));
    }
    return Status();
  }

  using Session::Issue;
  Result<std::vector<Issued>> Issue(Span<const LayerCall> calls) override {
    for (const LayerCall& call : calls) {
      PERSIA_RETURN_IF_ERROR(retired_.Check(call.layer));
      PERSIA_RETURN_IF_ERROR(CheckIds(call.layer, call));
    }
    PERSIA_RETURN_IF_ERROR(pushes_.error());
    return CatchBadAlloc([&] { return Begin(calls); });
  }

  using Session::Fetch;
  void Fetch(std::vector<WantedRows> wanted, DoneCallback done) override {
    const Status room = CheckRoom(wanted);
    if (!room.ok() || wanted.empty()) return done(room);
    const Clock::time_point asked_at = Clock::now();
    const std::thread::id caller = std::this_thread::get_id();
    const auto all =
        std::make_shared<const std::vector<WantedRows>>(std::move(wanted));
    const DoneCallback arrived = DoneOfAll(
        all->size(), [this, all, done = std::move(done)](Status status) {
          if (status.ok()) status = CopyAll(*all);
          done(status);
        });
    for (const WantedRows& each : *all) {
      each.lookup->WhenComplete(
          [this, asked_at, caller, arrived](const Status& status) {
            if (std::this_thread::get_id() != caller) CountWait(asked_at);
            arrived(status);
          });
    }
  }

  Result<StreamId> OpenStream(const StreamOptions& options) override {
    if (options.staleness < 0) {
      return InvalidArgument("staleness must be at least 0, received ",
                             options.staleness);
    }
    if (options.replicas < 1) {
      return InvalidArgument("replicas must be at least 1, received ",
                             options.replicas);
    }
    return lookups_.OpenStream(options);
  }

  void CloseStream(StreamId stream) override {
    lookups_.CloseStream(stream);
    ledger_.ForgetStream(stream);
  }

  Status Prefetch(StreamId stream, std::vector<PrefetchIds> layers) override {
    for (const PrefetchIds& layer : layers) {
      PERSIA_RETURN_IF_ERROR(retired_.Check(layer.layer));
      PERSIA_RETURN_IF_ERROR(CheckIds(layer.layer, layer));
    }
    return CatchBadAlloc(
        [&] { return lookups_.Register(stream, std::move(layers)); });
  }

  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients) override {
    PERSIA_RETURN_IF_ERROR(pushes_.error());
    return ledger_.Stage(layer, ticket, std::move(gradients));
  }

  using Session::Commit;
  void Commit(const std::string& layer, OptimizerStep step,
              DoneCallback done) override {
    const Status retired = retired_.Check(layer);
    if (!retired.ok()) return done(retired);
    const Status error = pushes_.error();
    if (!error.ok()) return done(error);
    auto committed = ledger_.Commit(layer, step);
    if (!committed.ok()) return done(committed.status());
    if (committed->took_any) ++committed_;
    if (!IsSynchronous(committed->released, options_.staleness)) {
      pushes_.Push(std::move(committed->released));
      return done(Status());
    }
    const std::vector<TableKey> tables = TablesOf(committed->released);
    pushes_.Push(std::move(committed->released));
    pushes_.WhenPendingAtMost(tables, 0, std::move(done));
  }

  void Retire(const std::string& layer, const Status& why) override {
    retired_.Add(layer, why);
  }

  Status Flush() override {
    pushes_.Push(ledger_.ReleaseAll());
    return pushes_.Flush();
  }

  SessionCounters Counters() const override {
    const PushQueue::Counters pushes = pushes_.counters();
    SessionCounters counters;
    counters.training_lookups = training_lookups_;
    counters.readonly_lookups = readonly_lookups_;
    counters.committed = committed_;
    counters.gradients_discarded = ledger_.discarded();
    counters.updates = pushes.updates;
    counters.gradients_nonfinite = pushes.gradients_nonfinite;
    counters.gradients_absent = pushes.gradients_absent;
    counters.updates_pending = pushes.updates_pending;
    counters.lookup_waits = lookup_waits_;
    counters.lookup_wait_nanoseconds = lookup_wait_nanoseconds_;
    lookups_.AddTo(&counters);
    AddWireTo(&counters);
    AddCacheTo(&counters);
    AddFeedbackTo(&counters);
    return counters;
  }

  Result<std::vector<std::vector<uint8_t>>> SaveResiduals() const override {
    using Files = std::vector<std::vector<uint8_t>>;
    if (feedback_ == nullptr) return Files();
    return CatchBadAlloc([&]() -> Result<Files> {
      return EncodeResiduals(feedback_->SaveResiduals());
    });
  }

  Status RestoreResiduals(Span<const ConstBytes> files,
                          uint64_t generation) override {
    return CatchBadAlloc([&] {
      std::vector<TableResiduals> saved;
      PERSIA_RETURN_IF_ERROR(DecodeResiduals(files, &saved));
      if (feedback_ != nullptr) feedback_->RestoreResiduals(saved, generation);
      return Status();
    });
  }

  Status MoveShard(uint32_t shard, const std::string& address) override {
    return service_->MoveShard(shard, address);
  }

  Status MoveAddress(const std::string& from, const std::string& to) override {
    return service_->MoveAddress(from, to);
  }

  Status Call(const AnyRequest& request) override {
    if (auto* const* drop = std::get_if<DropTableRequest*>(&request)) {
      const auto drop_id = RandomNonZero();
      if (!drop_id.ok()) return drop_id.status();
      (*drop)->drop_id = *drop_id;
    }
    std::visit([this](auto* typed) { typed->deadline = NewDeadline(); },
               request);
    return Await(
        [&](DoneCallback done) { service_->Call(request, std::move(done)); });
  }

 private:
  Status CopyAll(Span<const WantedRows> wanted) {
    return CatchBadAlloc([&] {
      CopyRows(wanted, &fetchers_);
      return Status();
    });
  }

  Result<std::vector<Issued>> Begin(Span<const LayerCall> calls) {
    std::vector<TableKey> tables;
    for (const LayerCall& call : calls) tables.push_back(call.table);
    pushes_.Push(ledger_.Release(tables));
    std::vector<std::shared_ptr<Lookup>> lookups = lookups_.Start(calls);
    std::vector<Issued> all;
    for (size_t i = 0; i < calls.size(); ++i) {
      ++(calls[i].training ? training_lookups_ : readonly_lookups_);
      Issued issued;
      issued.lookup = std::move(lookups[i]);
      if (calls[i].training) {
        StepLedger::Opened opened = ledger_.Open(issued.lookup->plan());
        issued.ticket = opened.ticket;
        pushes_.Push(std::move(opened.released));
      }
      all.push_back(std::move(issued));
    }
    return all;
  }

  Deadline NewDeadline() const {
    return DeadlineAfter(options_.timeout_seconds);
  }

  void AddWireTo(SessionCounters* counters) const {
    if (options_.wire == nullptr) return;
    counters->bytes_out = options_.wire->bytes_out;
    counters->bytes_in = options_.wire->bytes_in;
    counters->requests = options_.wire->requests;
    counters->retries = options_.wire->retries;
    counters->reconnects = options_.wire->reconnects;
  }

  void AddCacheTo(SessionCounters* counters) const {
    if (cache_ == nullptr) return;
    for (const CachedTable& table : cache_->tables()) {
      counters->hot_row_hits += table.rows.hits;
      counters->hot_row_misses += table.rows.misses;
    }
  }

  void AddFeedbackTo(SessionCounters* counters) const {
    if (feedback_ == nullptr) return;
    counters->feedback_ids = feedback_->residuals().rows();
    counters->feedback_dropped = feedback_->residuals().dropped();
  }

  void CountWait(Clock::time_point asked_at) {
    ++lookup_waits_;
    lookup_wait_nanoseconds_ +=
        std::chrono::nanoseconds(Clock::now() - asked_at).count();
  }

  const SessionOptions options_;
  std::atomic<uint64_t> training_lookups_{0};
  std::atomic<uint64_t> readonly_lookups_{0};
  std::atomic<uint64_t> committed_{0};
  std::atomic<uint64_t> lookup_waits_{0};
  std::atomic<uint64_t> lookup_wait_nanoseconds_{0};
  RetiredLayers retired_;
  StepLedger ledger_;
  StalenessMeter staleness_;
  // These members are destroyed in reverse order: first, lookups that waited
  // for pushes are sent; then the service's outstanding calls complete; then
  // the callbacks that wait for rows run.
  CallbackThreads fetchers_;
  // Parts of service_, or null.
  FeedbackService* feedback_ = nullptr;
  const CachingService* cache_ = nullptr;
  std::unique_ptr<EmbeddingService> service_;
  PushQueue pushes_;
  LookupSender lookups_;
  CallbackThreads senders_;
};

}  // namespace

void Session::Commit(Span<const std::string> layers,
                     Span<const OptimizerStep> steps, DoneCallback done) {
  const DoneCallback each = DoneOfAll(layers.size(), std::move(done));
  for (size_t i = 0; i < layers.size(); ++i) Commit(layers[i], steps[i], each);
}

std::unique_ptr<Session> MakeSession(std::unique_ptr<EmbeddingService> service,
                                     const SessionOptions& options) {
  return std::make_unique<SessionImpl>(std::move(service), options);
}

}  // namespace persia
