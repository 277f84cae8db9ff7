// HotRowsService: answers read-only lookups from copies of rows that are fresh
// enough, including copies of what absent ids get. Since that depends on
// AbsentRows, there are separate copies for each value of it.
//
// A copy expires some time after its row was requested. While a follower of the
// rows' changes reports them here, copies do not expire, and each reported
// change updates them. After a restore of the shards, the first reply that
// shows the new generation invalidates all copies. Vectors that no server gave
// (TableLookup::unanswered) are not copied.
//
// Unlike CachingService it does not see updates: it is for programs that make
// none. Training lookups, and bags, are forwarded unchanged.
//
// Thread-safe and asynchronous, as described at EmbeddingService: it has no
// thread and blocks only for short locks.

#ifndef PERSIA_CC_SERVING_HOT_ROWS_SERVICE_H_
#define PERSIA_CC_SERVING_HOT_ROWS_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cc/base/clock.h"
#include "cc/service/copying_service.h"
#include "cc/service/row_cache.h"

namespace persia {

struct HotRowsOptions {
  uint64_t rows = 0;   // Limit per table and AbsentRows. 0: no copies.
  double seconds = 0;  // Lifetime of copies that are not followed.
  Clock::time_point (*now)() = &Clock::now;
};

class HotRowsService : public CopyingService {
 public:
  HotRowsService(std::unique_ptr<EmbeddingService> inner,
                 const HotRowsOptions& options);
  ~HotRowsService() override;

  // A follower calls SetFollowed(true) first, and then reports every later
  // change. From then on copies do not expire by age, until SetFollowed(false).
  void SetFollowed(bool followed);

  // Report rows that have changed, `rows` (ids.size() x dim), and ids that have
  // lost their rows. Calls for a table that has no copies, or another dim, do
  // nothing. kResourceExhausted if there is no memory; the copies that could
  // not be updated are then invalidated.
  Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                 Span<const float> rows);
  Status Erase(TableKey table, Span<const int64_t> ids);

  // The sum over all tables.
  RowCacheStats stats() const;

 private:
  bool CopiesMayAnswer(const LookupRequest& request) const override;
  // The caches of a table: one for each AbsentRows that was requested.
  std::vector<RowCache*> Find(TableKey table) const;
  template <typename Change>
  Status TellAll(TableKey table, const Change& change);
  // The clock's time in nanoseconds, always above 0.
  uint64_t Now() const;
  // These require mutex_.
  CachedLookup::Moment TakeMoment(const LookupRequest& request) const override;
  std::shared_ptr<RowCache> CacheOf(const TableLookup& table) override;
  void EndAllCopies() override;

  const HotRowsOptions options_;
  // Everything below is guarded by mutex_. Caches are never removed.
  std::map<std::pair<TableKey, AbsentRows>, std::shared_ptr<RowCache>> caches_;
  std::optional<uint64_t> followed_since_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_HOT_ROWS_SERVICE_H_
