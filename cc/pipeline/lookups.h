// Lookups: how a session's lookups reach the service: sent ahead by a stream,
// or gathered with others of their step.
//
// Thread-safe; never blocks.

#ifndef PERSIA_CC_PIPELINE_LOOKUPS_H_
#define PERSIA_CC_PIPELINE_LOOKUPS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/fused_lookup.h"
#include "cc/pipeline/layer_lookup.h"
#include "cc/pipeline/lookup_gatherer.h"
#include "cc/pipeline/lookup_planner.h"
#include "cc/pipeline/prefetch_stream.h"
#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/session.h"
#include "cc/pipeline/staleness_meter.h"

namespace persia {

class Lookups {
 public:
  // All must outlive this. Calls that have to wait are made by `senders`; those
  // who wait for rows are called by `fetchers`.
  Lookups(EmbeddingService* service, PushQueue* pushes,
          CallbackThreads* senders, CallbackThreads* fetchers,
          const SessionOptions& options);

  // Closes every stream and sends what is gathered. Nothing may come after, but
  // what waits for pushes goes on.
  void Stop();

  // Of lookups from now on, if they move less so.
  void SendBagsOf(TableKey table) { planner_.SendBagsOf(table); }

  // The lookup that a stream holds for `call`, or a new one on its way.
  std::shared_ptr<LayerLookup> Start(const LookupCall& call);

  StreamId OpenStream(StreamOptions options);
  void CloseStream(StreamId id);
  // kNotFound if there is no such stream.
  Status Register(StreamId id, std::vector<PrefetchIds> layers);

  // Sets what this class counts.
  void AddTo(SessionCounters* counters) const;

 private:
  std::shared_ptr<LayerLookup> Claim(const LookupCall& call);
  std::vector<std::shared_ptr<PrefetchStream>> Streams() const;
  void SendWhenFresh(std::shared_ptr<FusedLookup> request);
  void WhenFresh(const FusedLookup& request, int bound, DoneCallback done);
  // A request of several layers, which one of them sends: an exception would
  // reach that one, and leave the others waiting.
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
  LookupPlanner planner_;

  StalenessMeter staleness_;
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> prefetched_{0};
  std::atomic<uint64_t> stale_{0};
  std::atomic<uint64_t> dropped_{0};

  mutable std::mutex mutex_;
  StreamId last_stream_ = 0;  // Guarded by mutex_.
  std::map<StreamId, std::shared_ptr<PrefetchStream>> streams_;  // By mutex_.

  LookupGatherer training_;
  LookupGatherer reading_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUPS_H_
