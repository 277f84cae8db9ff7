#include "cc/serving/outage_service.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {

OutageService::OutageService(std::unique_ptr<EmbeddingService> inner,
                             bool gives_zeros)
    : ForwardingService(std::move(inner)), gives_zeros_(gives_zeros) {}

OutageService::~OutageService() { EndInner(); }

void OutageService::Lookup(LookupRequest* request, DoneCallback done) {
  request->zeros_for_outages = gives_zeros_;
  inner()->Lookup(
      request, [this, request, done = std::move(done)](const Status& status) {
        done(CatchBadAlloc([&] { return Settle(status, request); }));
      });
}

Status OutageService::Settle(const Status& status, LookupRequest* request) {
  if (status.ok()) generation_ = request->generation;
  const bool is_outage = IsOutage(status) && gives_zeros_;
  if (is_outage) GiveZeros(request);
  uint64_t zeros = 0;
  for (const TableLookup& table : request->tables) {
    zeros += table.unanswered.size();
  }
  zeros_ += zeros;
  if (!status.ok() || zeros > 0) ++failures_;
  return is_outage ? Status() : status;
}

void OutageService::GiveZeros(LookupRequest* request) const {
  // No server replied, so no new generation is known: the request gets the
  // generation of the last reply.
  request->generation = generation_;
  for (TableLookup& table : request->tables) {
    std::fill(table.rows.begin(), table.rows.end(), 0.0f);
    table.unanswered.resize(table.ids.vectors());
    std::iota(table.unanswered.begin(), table.unanswered.end(), 0);
  }
}

}  // namespace persia
