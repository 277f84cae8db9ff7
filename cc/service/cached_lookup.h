// CachedLookup: a lookup answered from cached copies as far as possible, with
// an inner request to the service for the other rows.
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
  // The epochs (see UpdateEpochs) and the store's generation at the time of the
  // lookup. The owner of the caches sets them.
  struct Moment {
    uint64_t since = 0;  // The epoch of the oldest copies that may answer.
    uint64_t now = 0;    // The epoch of the rows that this lookup requests.
    uint64_t generation = 0;  // The store's generation; 0 if not yet known.
    // Whether rows of read-only lookups are cached as well. Such a row may be
    // an absent id's default value, which a training lookup must not get.
    bool copies_read_only = false;
  };

  // `request` must have no bags, and must outlive this object.
  CachedLookup(LookupRequest* request, const Moment& moment);

  // Processes the next table of the request: copies the rows that `cache`
  // holds, and adds the other ids to inner(). `cache` may be null.
  // kResourceExhausted if there is no memory.
  Status AddTable(std::shared_ptr<RowCache> cache);

  // Returns whether copies answered the whole lookup. If so, the lookup is
  // complete, and outer()'s generation is set.
  bool FinishFromCopies();

  LookupRequest* outer() { return outer_; }

  // The request for the rows that no copy answered.
  LookupRequest* inner() { return &inner_; }

  // Whether the reply to inner() and the copies are from different generations
  // of the store. If so, a lookup must not return both.
  bool MixesGenerations() const;

  // Copies the rows in inner()'s reply to the outer request, and caches them.
  void Finish();

 private:
  // The state of one table of the inner request. parts_ and inner_.tables have
  // the same order.
  struct Part {
    std::shared_ptr<RowCache> cache;  // May be null.
    size_t table = 0;                 // The table's index in the outer request.
    std::vector<uint32_t> missing;
    // The ids whose rows were not cached. Empty if no row was cached: the inner
    // service then writes the rows directly to the outer request's memory.
    std::vector<int64_t> ids;
    ByteBuffer rows;
  };

  Status RequestMissing(Part* part);
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
