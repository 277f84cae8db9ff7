// CopyingService: base class of services that answer lookups from copies of
// rows. The derived class decides which copies there are and which may answer.
// This class looks the copies up, asks the inner service for the other rows,
// and joins the two if they are of the same generation of the store.
//
// Lookups of bags are passed on unchanged. Thread-safe and asynchronous, as
// EmbeddingService says: it has no thread and never blocks beyond short locks.

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

  // A derived class must call it first in its destructor: completes outstanding
  // calls.
  void End();

  // Whether copies may answer `request`, which has no bags.
  virtual bool CopiesMayAnswer(const LookupRequest& request) const = 0;
  // The functions below require mutex_.
  // Fills in all of it except the generation.
  virtual CachedLookup::Moment TakeMoment(
      const LookupRequest& request) const = 0;
  // Null if there are no copies of the table, or if the lookup is malformed:
  // the inner service then refuses it.
  virtual std::shared_ptr<RowCache> CacheOf(const TableLookup& table) = 0;
  // Invalidates all present copies.
  virtual void EndAllCopies() = 0;

  // Records the generation of a reply; invalidates all copies if it has
  // changed. Requires mutex_.
  void NoteGeneration(uint64_t generation);

  mutable std::mutex mutex_;

 private:
  Status Prepare(LookupRequest* request, std::unique_ptr<CachedLookup>* lookup);
  void Ask(std::shared_ptr<CachedLookup> lookup, DoneCallback done);

  // The members below are guarded by mutex_.
  std::optional<uint64_t> generation_;
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_COPYING_SERVICE_H_
