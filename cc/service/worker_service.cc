#include "cc/service/worker_service.h"

#include <atomic>
#include <utility>
#include <vector>

#include "cc/service/caching_service.h"
#include "cc/service/coalescing_service.h"
#include "cc/service/forwarding_service.h"
#include "cc/service/pooling_service.h"

namespace persia {
namespace {

TableStats StatsOf(const CachedTable& table) {
  TableStats stats;
  stats.name = table.name;
  stats.dim = table.dim;
  stats.rows = table.rows.rows;
  stats.bytes = table.rows.bytes;
  stats.index_slots = table.capacity;
  stats.rows_looked_up = table.rows.hits + table.rows.misses;
  stats.rows_found = table.rows.hits;
  stats.evictions = table.rows.evictions;
  return stats;
}

// Counts the requests, and adds the worker's entry to Stats.
class WorkerService : public ForwardingService {
 public:
  // `cache` may be null; `inner` owns it.
  WorkerService(std::unique_ptr<EmbeddingService> inner,
                const CachingService* cache,
                std::function<void(ServiceStats*)> add_counters)
      : ForwardingService(std::move(inner)),
        cache_(cache),
        add_counters_(std::move(add_counters)) {}

  ~WorkerService() override { EndInner(); }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    lookups_.fetch_add(1, std::memory_order_relaxed);
    inner()->Lookup(request, std::move(done));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    updates_.fetch_add(1, std::memory_order_relaxed);
    inner()->Update(request, std::move(done));
  }

  // A worker is no shard of a cluster, and takes the ids of all slots.
  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override {
    request->member = 0;
    request->topology.clear();
    done(Status());
  }
  SharedTopology CurrentTopology() const override { return nullptr; }

  void Stats(StatsRequest* request, DoneCallback done) override {
    if (request->only_own) {
      request->processes.clear();
      AddOwn(&request->processes);
      return done(Status());
    }
    inner()->Stats(request,
                   [this, request, done = std::move(done)](Status status) {
                     if (status.ok()) AddOwn(&request->processes);
                     done(std::move(status));
                   });
  }

 private:
  // Inserts the worker's entry, with an empty address, which the server sets.
  void AddOwn(std::vector<ServiceStats>* processes) const {
    ServiceStats own;
    own.role = "worker";
    if (!processes->empty()) own.generation = processes->front().generation;
    own.lookups = lookups_.load(std::memory_order_relaxed);
    own.updates = updates_.load(std::memory_order_relaxed);
    if (add_counters_ != nullptr) add_counters_(&own);
    if (cache_ != nullptr) {
      for (const CachedTable& table : cache_->tables()) {
        own.tables.push_back(StatsOf(table));
      }
    }
    processes->insert(processes->begin(), std::move(own));
  }

  const CachingService* const cache_;
  const std::function<void(ServiceStats*)> add_counters_;
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> updates_{0};
};

}  // namespace

std::unique_ptr<EmbeddingService> MakeWorkerService(
    std::unique_ptr<EmbeddingService> shards, uint64_t cache_rows,
    std::function<void(ServiceStats*)> add_counters) {
  auto service = MakeCoalescingService(std::move(shards), CoalescingOptions());
  const CachingService* cache = nullptr;
  if (cache_rows > 0) {
    CacheOptions options;
    options.rows = cache_rows;
    auto caching =
        std::make_unique<CachingService>(std::move(service), options);
    cache = caching.get();
    service = std::move(caching);
  }
  return std::make_unique<WorkerService>(MakePoolingService(std::move(service)),
                                         cache, std::move(add_counters));
}

}  // namespace persia
