// HotRowsService: answers read-only lookups from copies of rows that are fresh
// enough. It also copies the vectors that lookups return for absent ids. These
// vectors depend on the lookup's AbsentRows, so there is a separate cache for
// each value of AbsentRows.
//
// A copy expires some time after its row was requested. While a follower
// reports the rows' changes to this service, copies do not expire, and each
// reported change updates them. After a restore of the shards, the first reply
// that has the new generation invalidates all copies. Vectors that became zeros
// because no server answered (TableLookup::unanswered) are not copied.
//
// Unlike CachingService, this service does not see updates, so it is for
// programs that send none. Training lookups and lookups of bags are forwarded
// unchanged.
//
// Thread-safe and asynchronous, as described at EmbeddingService: the service
// has no thread of its own and blocks only for short locks.

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
  // The maximum number of copies for each table and each value of AbsentRows; 0
  // means that no rows are copied.
  uint64_t rows = 0;
  // The lifetime of a copy while no follower reports changes.
  double seconds = 0;
  Clock::time_point (*now)() = &Clock::now;
};

class HotRowsService : public CopyingService {
 public:
  HotRowsService(std::unique_ptr<EmbeddingService> inner,
                 const HotRowsOptions& options);
  ~HotRowsService() override;

  // A follower of the shards' changes calls SetFollowed(true) first, and then
  // reports every later change by Refresh or Erase. Copies that are made from
  // then on do not expire by age, until SetFollowed(false).
  void SetFollowed(bool followed);

  // Refresh reports the new weights, `rows` (ids.size() x dim), of ids whose
  // rows have changed; Erase reports ids that have lost their rows. A call has
  // no effect if there are no copies of the table, or if they have another dim.
  // Returns kResourceExhausted if there is no memory; the copies that could not
  // be updated are then invalidated.
  Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                 Span<const float> rows);
  Status Erase(TableKey table, Span<const int64_t> ids);

  // The counters of all caches, added up.
  RowCacheStats stats() const;

 private:
  bool CopiesMayAnswer(const LookupRequest& request) const override;
  // The caches of a table: one for each AbsentRows that was requested.
  std::vector<RowCache*> Find(TableKey table) const;
  template <typename Change>
  Status TellAll(TableKey table, const Change& change);
  // The clock's time in nanoseconds, always above 0.
  uint64_t Now() const;
  // The caller of each function in this group must hold mutex_.
  CachedLookup::Moment TakeMoment(const LookupRequest& request) const override;
  std::shared_ptr<RowCache> CacheOf(const TableLookup& table) override;
  void EndAllCopies() override;

  const HotRowsOptions options_;
  // Everything below is guarded by mutex_. Caches are never removed, so the
  // pointers that Find returns stay valid.
  std::map<std::pair<TableKey, AbsentRows>, std::shared_ptr<RowCache>> caches_;
  std::optional<uint64_t> followed_since_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_HOT_ROWS_SERVICE_H_
