// OutageService: handles lookups while servers are unreachable.
//
// Either they fail, as they would without this service, or the vectors that no
// server gave become zeros. Both are counted. If a server refuses a lookup, for
// example because it does not have the table, that is not an outage: the lookup
// fails in both modes.
//
// Thread-safe and asynchronous, as described at EmbeddingService: it has no
// thread and never waits.

#ifndef PERSIA_CC_SERVING_OUTAGE_SERVICE_H_
#define PERSIA_CC_SERVING_OUTAGE_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "cc/service/forwarding_service.h"

namespace persia {

class OutageService : public ForwardingService {
 public:
  OutageService(std::unique_ptr<EmbeddingService> inner, bool gives_zeros);
  ~OutageService() override;

  void Lookup(LookupRequest* request, DoneCallback done) override;

  // Lookups that failed, or in which vectors became zeros.
  uint64_t failures() const { return failures_; }
  // Vectors that became zeros.
  uint64_t zeros() const { return zeros_; }

 private:
  Status Settle(const Status& status, LookupRequest* request);
  void GiveZeros(LookupRequest* request) const;

  const bool gives_zeros_;
  std::atomic<uint64_t> generation_{0};  // Of the last reply.
  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> zeros_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_OUTAGE_SERVICE_H_
