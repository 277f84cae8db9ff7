// CachedLookup: a lookup answered from cached copies as far as possible, with
// an inner request for the other rows.
//
// Not thread-safe.

#ifndef PERSIA_CC_SERVICE_CACHED_LOOKUP_H_
#define PERSIA_CC_SERVICE_CACHED_LOOKUP_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/service/row_cache.h"

namespace persia {

class CachedLookup {
 public:
  // The epochs and the generation at the time of the lookup, set by the owner
  // of the caches.
  struct Moment {
    uint64_t since = 0;  // The epoch of the oldest copies that may answer.
    uint64_t now = 0;    // The epoch of rows that are requested from now on.
    uint64_t generation = 0;  // The store's, as far as known.
    // Whether rows of read-only lookups are cached as well. Such a row may be
    // an absent id's default value, which a training lookup must not get.
    bool copies_read_only = false;
  };

  // `request` must have no bags, and must outlive this.
  CachedLookup(LookupRequest* request, const Moment& moment);

  // Copies the rows that `cache` has of the next table of the request; null:
  // none. kResourceExhausted if there is no memory.
  Status AddTable(std::shared_ptr<RowCache> cache);

  // Whether the copies answered everything. The lookup is then complete, and
  // outer()'s generation is set.
  bool FinishFromCopies();

  LookupRequest* outer() { return outer_; }

  // The request for the rows that no copy answered.
  LookupRequest* inner() { return &inner_; }

  // Whether the answer to `inner` and the copies are from different
  // generations. They must not be mixed then.
  bool MixesGenerations() const;

  // Moves the answer to `inner` into the outer request, and caches copies of
  // it.
  void Finish();

 private:
  // A table of the inner request, in its order.
  struct Part {
    std::shared_ptr<RowCache> cache;  // May be null.
    size_t table = 0;                 // Its index in the outer request.
    std::vector<uint32_t> missing;
    // The missing ids; empty if all are missing: those rows are then fetched in
    // place.
    std::vector<int64_t> ids;
    ByteBuffer rows;
  };

  Status AskForMissing(Part* part);
  static void Keep(RowCache* cache, const TableLookup& fetched, uint64_t epoch);

  LookupRequest* const outer_;
  const Moment moment_;
  LookupRequest inner_;
  std::deque<Part> parts_;
  size_t next_table_ = 0;
  bool took_copies_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CACHED_LOOKUP_H_
