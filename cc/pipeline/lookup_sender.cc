#include "cc/pipeline/lookup_sender.h"

#include <algorithm>
#include <utility>

namespace persia {
LookupSender::LookupSender(EmbeddingService* service, PushQueue* pushes,
                           CallbackThreads* senders, CallbackThreads* fetchers,
                           StalenessMeter* meter, const SessionOptions& options)
    : service_(service),
      pushes_(pushes),
      senders_(senders),
      run_later_([fetchers](std::function<void()> work) {
        fetchers->Run(std::move(work));
      }),
      options_(options),
      staleness_(meter),
      planner_(service, options.wire_dtype, fetchers),
      training_(/*read_only=*/false, options.linger_seconds,
                [this](auto request) { SendWhenFresh(std::move(request)); }),
      reading_(/*read_only=*/true, options.linger_seconds,
               [this](auto request) { SendWhenFresh(std::move(request)); }) {}

void LookupSender::Stop() {
  for (const auto& stream : Streams()) stream->Close();
  training_.Stop();
  reading_.Stop();
}

std::vector<std::shared_ptr<Lookup>> LookupSender::Start(
    Span<const LayerCall> calls) {
  std::vector<std::shared_ptr<Lookup>> lookups;
  std::vector<const LayerCall*> unclaimed;
  for (const LayerCall& call : calls) {
    lookups.push_back(Claim(call));
    if (lookups.back() == nullptr) unclaimed.push_back(&call);
  }
  auto gathered = Gather(unclaimed);
  auto next = gathered.begin();
  for (std::shared_ptr<Lookup>& lookup : lookups) {
    if (lookup == nullptr) lookup = std::move(*next++);
  }
  return lookups;
}

// Starts lookups that no stream holds.
std::vector<std::shared_ptr<Lookup>> LookupSender::Gather(
    Span<const LayerCall* const> calls) {
  std::vector<LookupPlanner::Ids> ids;
  for (const LayerCall* call : calls) ids.push_back({&call->layer, call});
  auto plans = planner_.Plan(ids);
  std::vector<std::shared_ptr<Lookup>> lookups;
  for (size_t i = 0; i < calls.size(); ++i) {
    plans[i]->replica = calls[i]->replica;
    plans[i]->absent = calls[i]->absent;
    lookups.push_back(std::make_shared<Lookup>(std::move(plans[i])));
    (calls[i]->training ? training_ : reading_).Add(lookups.back());
  }
  return lookups;
}

StreamId LookupSender::OpenStream(StreamOptions options) {
  options.has_copies = options_.hot_rows > 0;
  std::lock_guard<std::mutex> lock(mutex_);
  const StreamId id = ++last_stream_;
  PrefetchStream::Callbacks callbacks;
  callbacks.send = [this](const std::shared_ptr<FusedLookup>& request,
                          uint64_t visible_sequence) {
    const Status error = pushes_->error();
    if (!error.ok()) return Fail(request, error);
    Send(request, visible_sequence);
  };
  callbacks.run_later = [this](std::function<void()> work) {
    senders_->Run(std::move(work));
  };
  callbacks.on_dropped = [this] { ++prefetch_dropped_; };
  streams_[id] = std::make_shared<PrefetchStream>(
      id, options, &planner_, pushes_, std::move(callbacks));
  return id;
}

void LookupSender::CloseStream(StreamId id) {
  std::shared_ptr<PrefetchStream> stream;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    stream = std::move(found->second);
    streams_.erase(found);
  }
  stream->Close();
}

Status LookupSender::Register(StreamId id, std::vector<PrefetchIds> layers) {
  std::shared_ptr<PrefetchStream> stream;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) {
      return Status(Code::kNotFound,
                    Concat("there is no prefetch stream ", id));
    }
    stream = found->second;
  }
  stream->Register(std::move(layers));
  return Status();
}

void LookupSender::AddTo(SessionCounters* counters) const {
  counters->lookup_requests = lookup_requests_;
  counters->prefetch_hits = prefetch_hits_;
  counters->prefetch_stale = prefetch_stale_;
  counters->prefetch_dropped = prefetch_dropped_;
  counters->staleness = staleness_->Get();
  counters->staleness_last = counters->staleness.last;
  counters->staleness_max = counters->staleness.max;
  for (const auto& stream : Streams()) {
    counters->batches_registered += stream->depth();
  }
}

std::shared_ptr<Lookup> LookupSender::Claim(const LayerCall& call) {
  for (const auto& stream : Streams()) {
    PrefetchStream::Claim claim = stream->TakeMatch(call);
    if (claim.lookup == nullptr) continue;
    if (claim.staleness) staleness_->Add(*claim.staleness);
    if (claim.was_stale) ++prefetch_stale_;
    if (claim.to_send.empty()) ++prefetch_hits_;
    for (auto& request : claim.to_send) SendWhenFresh(std::move(request));
    stream->SendWhatMayGo();
    return claim.lookup;
  }
  return nullptr;
}

std::vector<std::shared_ptr<PrefetchStream>> LookupSender::Streams() const {
  std::vector<std::shared_ptr<PrefetchStream>> streams;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, stream] : streams_) streams.push_back(stream);
  return streams;
}

// Sends a request that a running step needs, as soon as the updates that its
// rows must reflect are acknowledged.
void LookupSender::SendWhenFresh(std::shared_ptr<FusedLookup> request) {
  const LookupPlan& first = *request->lookups().front()->plan();
  const int bound =
      request->read_only() ? 0 : first.staleness(options_.staleness);
  const FusedLookup& fused = *request;
  WhenFresh(fused, bound,
            [this, request = std::move(request), bound](const Status& status) {
              if (!status.ok()) return Fail(request, status);
              const uint64_t newest = pushes_->newest_sequence();
              const uint64_t visible =
                  newest - std::min<uint64_t>(newest, bound);
              if (!request->read_only()) {
                staleness_->Add(MostMissing(request->Tables(), visible));
              }
              Send(request, visible);
            });
}

void LookupSender::WhenFresh(const FusedLookup& request, int bound,
                             DoneCallback done) {
  if (request.read_only()) {
    return pushes_->WhenAcknowledged(request.Tables(), std::move(done));
  }
  pushes_->WhenPendingAtMost(request.Tables(), bound, std::move(done));
}

void LookupSender::Send(const std::shared_ptr<FusedLookup>& request,
                        uint64_t visible_sequence) noexcept {
  ++lookup_requests_;
  FusedLookup::SendOptions options;
  options.deadline = DeadlineAfter(options_.timeout_seconds);
  options.run_later = run_later_;
  // A cached copy may lack a pending update. So if the rows must reflect an
  // update that is still pending, `client` stays 0, so that no cache answers.
  if (pushes_->AreAcknowledged(visible_sequence)) {
    options.client = pushes_->client();
    options.visible_sequence = visible_sequence;
  }
  request->Send(service_, options);
}

void LookupSender::Fail(const std::shared_ptr<FusedLookup>& request,
                        const Status& status) {
  request->Fail(status, run_later_);
}

// Returns the highest number of committed steps that the rows of a batch may
// lack if the batch is looked up now. Rows that are cached in this process may
// lack more steps than the shards' rows.
uint64_t LookupSender::MostMissing(const std::vector<TableKey>& tables,
                                   uint64_t visible_sequence) const {
  uint64_t most = 0;
  for (const TableKey table : tables) {
    const PushQueue::Progress progress = pushes_->ProgressOf(table);
    most = std::max(most, progress.committed - progress.acknowledged);
    if (options_.hot_rows == 0) continue;
    most = std::max(most, pushes_->UpdatesAfter(table, visible_sequence));
  }
  return most;
}

}  // namespace persia
