#include "cc/serving/remote_tables.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/text.h"
#include "cc/pipeline/lookup.h"

namespace persia {
namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// The last reference to a session may be released in one of the session's own
// callbacks. A callback must not destroy its session, so another thread does.
void DestroyElsewhere(Session* session) {
  std::thread([session] { delete session; }).detach();
}

class RemoteTablesImpl : public RemoteTables {
 public:
  RemoteTablesImpl(std::unique_ptr<EmbeddingService> service,
                   const RemoteOptions& options, const RemoteAccess& access,
                   const HotRowsOptions& copies)
      : number_(NextNumber()),
        cluster_(options.cluster),
        addresses_(Join(access.addresses, ",")) {
    auto outages = std::make_unique<OutageService>(std::move(service),
                                                   options.zeros_for_outages);
    outages_ = outages.get();
    auto hot_rows =
        std::make_unique<HotRowsService>(std::move(outages), copies);
    hot_rows_ = hot_rows.get();
    SessionOptions session;
    session.timeout_seconds = options.timeout_seconds;
    session.wire_dtype = options.wire_dtype;
    session_ = std::shared_ptr<Session>(
        MakeSession(std::move(hot_rows), session).release(), DestroyElsewhere);
  }

  uint64_t number() const override { return number_; }
  const std::string& cluster() const override { return cluster_; }
  const std::string& addresses() const override { return addresses_; }

  void Lookup(const RemoteLookup& lookup, Span<float> rows,
              DoneCallback done) override {
    const Clock::time_point began = Clock::now();
    LayerCall call;
    call.layer = lookup.op;
    call.table = lookup.table;
    call.dim = lookup.dim;
    call.absent = lookup.absent;
    call.ids = lookup.ids;
    auto issued = session_->Issue(call);
    if (!issued.ok()) return done(issued.status());
    ++lookups_;
    ids_ += lookup.ids.size();
    unique_ids_ += issued->lookup->plan()->unique.ids.size();
    session_->Fetch(issued->lookup, rows,
                    [self = shared_from_this(), this, began,
                     done = std::move(done)](const Status& status) {
                      latencies_.Add(Clock::now() - began);
                      done(status);
                    });
  }

  void SetFollowed(bool followed) override { hot_rows_->SetFollowed(followed); }

  Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                 Span<const float> rows) override {
    return hot_rows_->Refresh(table, dim, ids, rows);
  }

  Status Erase(TableKey table, Span<const int64_t> ids) override {
    return hot_rows_->Erase(table, ids);
  }

  RemoteCounters counters() const override {
    RemoteCounters counters;
    counters.lookups = lookups_;
    counters.ids = ids_;
    counters.unique_ids = unique_ids_;
    counters.requests = session_->Counters().lookup_requests;
    counters.failures = outages_->failures();
    counters.zeros = outages_->zeros();
    const RowCacheStats hot = hot_rows_->stats();
    counters.hot_hits = hot.hits;
    counters.hot_misses = hot.misses;
    counters.hot_rows = hot.rows;
    counters.hot_bytes = hot.bytes;
    counters.latencies = latencies_.bins();
    return counters;
  }

 private:
  const uint64_t number_;
  const std::string cluster_;
  const std::string addresses_;
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> ids_{0};
  std::atomic<uint64_t> unique_ids_{0};
  Latencies latencies_;
  // The session owns the services that outages_ and hot_rows_ point to.
  const OutageService* outages_ = nullptr;
  HotRowsService* hot_rows_ = nullptr;
  std::shared_ptr<Session> session_;
};

}  // namespace

std::shared_ptr<RemoteTables> MakeRemoteTables(
    std::unique_ptr<EmbeddingService> service, const RemoteOptions& options,
    const RemoteAccess& access, const HotRowsOptions& copies) {
  return std::make_shared<RemoteTablesImpl>(std::move(service), options, access,
                                            copies);
}

}  // namespace persia
