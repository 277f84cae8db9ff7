// CopyingService: what services that answer lookups from copies of rows are
// made of. Who is derived from it says what copies there are, and what they are
// worth; here they are looked up, the service within is asked for the rest, and
// the two are joined if they are of one generation of the store.
//
// Lookups of bags pass as they are. Thread-safe and asynchronous, as
// EmbeddingService says: it has no thread and never waits but for short locks.

#ifndef PERSIA_CC_SERVICE_COPYING_SERVICE_H_
#define PERSIA_CC_SERVICE_COPYING_SERVICE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "cc/service/cached_lookup.h"
#include "cc/service/forwarding_service.h"
#include "cc/service/row_cache.h"

namespace persia {

class CopyingService : public ForwardingService {
 public:
  void Lookup(LookupRequest* request, DoneCallback done) override;

 protected:
  using ForwardingService::ForwardingService;

  // To be called first of all in the destructor of who is derived: completes
  // outstanding calls.
  void End();

  // Whether copies may answer a lookup, which has no bags.
  virtual bool CopiesMayAnswer(const LookupRequest& request) const = 0;
  // These require mutex_.
  // All but the generation.
  virtual CachedLookup::Moment TakeMoment(
      const LookupRequest& request) const = 0;
  // Null if there are no copies of the table, or the lookup is malformed, which
  // is the service's to refuse.
  virtual std::shared_ptr<RowCache> CacheOf(const TableLookup& table) = 0;
  // Those kept until now answer nobody any more.
  virtual void EndAllCopies() = 0;

  // That of a reply. Requires mutex_.
  void NoteGeneration(uint64_t generation);

  mutable std::mutex mutex_;

 private:
  Status Prepare(LookupRequest* request, std::unique_ptr<CachedLookup>* lookup);
  void Ask(std::shared_ptr<CachedLookup> lookup, DoneCallback done);

  // These are guarded by mutex_.
  std::optional<uint64_t> generation_;
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COPYING_SERVICE_H_
