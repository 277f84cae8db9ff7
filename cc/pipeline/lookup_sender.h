// LookupSender: sends a session's lookups to the service, either ahead of their
// step, from a prefetch stream, or gathered with the other lookups of their
// step.
//
// The sender is thread-safe and never blocks.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_SENDER_H_
#define PERSIA_CC_PIPELINE_LOOKUP_SENDER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/fused_lookup.h"
#include "cc/pipeline/lookup.h"
#include "cc/pipeline/lookup_gatherer.h"
#include "cc/pipeline/lookup_planner.h"
#include "cc/pipeline/prefetch_stream.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/session.h"
#include "cc/pipeline/staleness_meter.h"

namespace persia {

class LookupSender {
 public:
  // The objects passed by pointer must outlive this object. `senders` sends
  // requests that have to wait; `fetchers` runs the callbacks that wait for
  // rows; `meter` receives the staleness of training batches.
  LookupSender(EmbeddingService* service, PushQueue* pushes,
               CallbackThreads* senders, CallbackThreads* fetchers,
               StalenessMeter* meter, const SessionOptions& options);

  // Closes every stream and sends the gathered lookups. No lookup may be
  // started afterwards. Requests that wait for updates to be acknowledged are
  // still sent.
  void Stop();

  // From now on, lookups of `table` send bags if that moves fewer bytes.
  void SendBagsOf(TableKey table) { planner_.SendBagsOf(table); }

  // Returns the lookup that a stream holds for each call, or starts a new one.
  std::vector<std::shared_ptr<Lookup>> Start(Span<const LayerCall> calls);

  StreamId OpenStream(StreamOptions options);
  void CloseStream(StreamId id);
  // Registers the next batch of stream `id`. Returns kNotFound if there is no
  // such stream.
  Status Register(StreamId id, std::vector<PrefetchIds> layers);

  // Sets those fields of `counters` that this class counts.
  void AddTo(SessionCounters* counters) const;

 private:
  std::shared_ptr<Lookup> Claim(const LayerCall& call);
  std::vector<std::shared_ptr<Lookup>> Gather(
      Span<const LayerCall* const> calls);
  std::vector<std::shared_ptr<PrefetchStream>> Streams() const;
  void SendWhenFresh(std::shared_ptr<FusedLookup> request);
  void WhenFresh(const FusedLookup& request, int bound, DoneCallback done);
  // Send is noexcept because one layer's lookup sends the request for several
  // layers: an exception would reach that layer only, and the other layers
  // would wait forever.
  void Send(const std::shared_ptr<FusedLookup>& request,
            uint64_t visible_sequence) noexcept;
  void Fail(const std::shared_ptr<FusedLookup>& request, const Status& status);
  uint64_t MostMissing(const std::vector<TableKey>& tables,
                       uint64_t visible_sequence) const;

  EmbeddingService* const service_;
  PushQueue* const pushes_;
  CallbackThreads* const senders_;
  const FusedLookup::RunLater run_later_;
  const SessionOptions options_;
  StalenessMeter* const staleness_;
  LookupPlanner planner_;

  std::atomic<uint64_t> lookup_requests_{0};
  std::atomic<uint64_t> prefetch_hits_{0};
  std::atomic<uint64_t> prefetch_stale_{0};
  std::atomic<uint64_t> prefetch_dropped_{0};

  mutable std::mutex mutex_;
  StreamId last_stream_ = 0;  // Guarded by mutex_.
  // Guarded by mutex_.
  std::map<StreamId, std::shared_ptr<PrefetchStream>> streams_;

  LookupGatherer training_;
  LookupGatherer reading_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_SENDER_H_
