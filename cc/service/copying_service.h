// CopyingService: base class of services that answer lookups from copies of
// rows. The derived class decides which copies there are and which may answer.
// This class looks up the copies, requests the other rows from the inner
// service, and combines both if they are from the same generation of the store.
//
// Lookups of bags go to the inner service unchanged. Thread-safe and
// asynchronous, as EmbeddingService requires: this class has no thread and
// blocks only for short locks.

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

  // Completes outstanding calls. A derived class must call End first in its
  // destructor.
  void End();

  // Whether copies may answer `request`, which has no bags.
  virtual bool CopiesMayAnswer(const LookupRequest& request) const = 0;
  // Returns the Moment of a lookup, with all members set except the generation.
  // The caller of this function and of the next two must hold mutex_.
  virtual CachedLookup::Moment TakeMoment(
      const LookupRequest& request) const = 0;
  // Returns the cache of the lookup's table. Null if there are no copies of the
  // table, or if the lookup is malformed, so that the inner service refuses it.
  virtual std::shared_ptr<RowCache> CacheOf(const TableLookup& table) = 0;
  // Invalidates all present copies.
  virtual void EndAllCopies() = 0;

  // Records the generation of a reply; invalidates all copies if the generation
  // has changed. Requires mutex_.
  void NoteGeneration(uint64_t generation);

  mutable std::mutex mutex_;

 private:
  Status Prepare(LookupRequest* request, std::unique_ptr<CachedLookup>* lookup);
  void Send(std::shared_ptr<CachedLookup> lookup, DoneCallback done);

  // The members below are guarded by mutex_.
  std::optional<uint64_t> generation_;
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COPYING_SERVICE_H_
