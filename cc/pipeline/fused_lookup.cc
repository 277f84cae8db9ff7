#include "cc/pipeline/fused_lookup.h"

#include <algorithm>
#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

// The callbacks of all layers share at most this many threads. A callback
// copies rows and then runs the TensorFlow ops that depend on them.
constexpr size_t kMaxThreads = 4;

void CallAll(std::vector<DoneCallback> waiters, const Status& status,
             const FusedLookup::RunLater& run_later) {
  const size_t threads = std::min(kMaxThreads, waiters.size());
  for (size_t t = 0; t < threads; ++t) {
    std::vector<DoneCallback> share;
    for (size_t i = t; i < waiters.size(); i += threads) {
      share.push_back(std::move(waiters[i]));
    }
    run_later([share = std::move(share), status] {
      for (const DoneCallback& waiter : share) waiter(status);
    });
  }
}

}  // namespace

void FusedLookup::Add(std::shared_ptr<Lookup> lookup) {
  lookups_.push_back(std::move(lookup));
}

std::vector<TableKey> FusedLookup::Tables() const {
  std::vector<TableKey> tables;
  tables.reserve(lookups_.size());
  for (const auto& lookup : lookups_) tables.push_back(lookup->plan()->table);
  return tables;
}

void FusedLookup::Send(EmbeddingService* service, const SendOptions& options) {
  const Status placed = CatchBadAlloc([this] {
    PlaceRows();
    return Status();
  });
  // A request without tables has no ids, so it completes without being sent.
  if (!placed.ok() || request_.tables.empty()) {
    return Finish(placed, options.run_later);
  }
  request_.deadline = options.deadline;
  request_.client = options.client;
  request_.visible_sequence = options.visible_sequence;
  service->Lookup(
      &request_,
      [self = shared_from_this(), run_later = options.run_later](
          const Status& status) { self->Finish(status, run_later); });
}

void FusedLookup::Fail(const Status& status, const RunLater& run_later) {
  std::vector<DoneCallback> waiters;
  for (const auto& lookup : lookups_) {
    for (DoneCallback& waiter : lookup->Complete(status, {}, nullptr)) {
      waiters.push_back(std::move(waiter));
    }
  }
  CallAll(std::move(waiters), status, run_later);
}

void FusedLookup::PlaceRows() {
  size_t floats = 0;
  for (const auto& lookup : lookups_) {
    floats += lookup->plan()->Sent().vectors() * lookup->plan()->dim;
  }
  rows_ = std::shared_ptr<float[]>(new float[floats]);
  Span<float> rest(rows_.get(), floats);
  for (const auto& lookup : lookups_) {
    const LookupPlan& plan = *lookup->plan();
    if (plan.unique.ids.empty()) continue;
    TableLookup table;
    table.ids = plan.Sent();
    if (read_only()) table.absent = plan.absent;
    table.rows = rest.first(table.ids.vectors() * plan.dim);
    rest = rest.subspan(table.rows.size());
    request_.tables.push_back(table);
  }
}

void FusedLookup::Finish(const Status& status, const RunLater& run_later) {
  if (!status.ok()) return Fail(status, run_later);
  std::vector<DoneCallback> waiters;
  size_t next = 0;
  for (const auto& lookup : lookups_) {
    LookupPlan& plan = *lookup->plan();
    Span<const float> rows;
    if (!plan.unique.ids.empty()) rows = request_.tables[next++].rows;
    plan.generation = request_.generation;
    for (DoneCallback& waiter : lookup->Complete(status, rows, rows_)) {
      waiters.push_back(std::move(waiter));
    }
  }
  CallAll(std::move(waiters), status, run_later);
}

}  // namespace persia
