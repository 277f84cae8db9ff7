// CachedLookup: a lookup that copies answer as far as they can, and a request
// for the rest.
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
  // Whoever has the caches says what copies are worth at this moment.
  struct Moment {
    uint64_t since = 0;       // The oldest copies that may answer.
    uint64_t now = 0;         // The epoch of what is asked from now on.
    uint64_t generation = 0;  // The store's, as far as is known.
    // Whether what an evaluation gets is copied as well. It may be an absent
    // id's default value, which is none of a training lookup's.
    bool copies_read_only = false;
  };

  // `request` must be without bags, and outlive this.
  CachedLookup(LookupRequest* request, const Moment& moment);

  // Takes what `cache` has of the next table of the request; null: nothing.
  // kResourceExhausted if there is no memory.
  Status AddTable(std::shared_ptr<RowCache> cache);

  // Whether nothing is left to ask for. It is then done.
  bool FinishFromCopies();

  LookupRequest* outer() { return outer_; }

  // What is left to be asked for.
  LookupRequest* inner() { return &inner_; }

  // Whether the answer to `inner` and the copies are of two generations. They
  // must not be mixed then.
  bool MixesGenerations() const;

  // Puts the answer to `inner` where it belongs, and keeps copies of it.
  void Finish();

 private:
  // A table of the inner request, in its order.
  struct Part {
    std::shared_ptr<RowCache> cache;  // May be null.
    size_t table = 0;                 // Its place in the outer request.
    std::vector<uint32_t> missing;
    // Of what is missing; none if that is all, which is then fetched in place.
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
