// OutageService: decides what a lookup returns while servers are unreachable.
//
// In one mode, the lookup fails, as it would without this service. In the other
// mode, the vectors for which no server answered become zeros. The service
// counts both. If a server refuses a lookup, for example because it does not
// have the table, that is not an outage: the lookup fails in both modes.
//
// Thread-safe and asynchronous, as described at EmbeddingService: the service
// has no thread of its own and never waits.

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

  // The number of lookups that failed or in which vectors became zeros.
  uint64_t failures() const { return failures_; }
  // The number of vectors that became zeros.
  uint64_t zeros() const { return zeros_; }

 private:
  Status Settle(const Status& status, LookupRequest* request);
  void GiveZeros(LookupRequest* request) const;

  const bool gives_zeros_;
  std::atomic<uint64_t> generation_{0};  // The last reply's generation.
  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> zeros_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_OUTAGE_SERVICE_H_
