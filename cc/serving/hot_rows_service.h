// HotRowsService: answers read-only lookups from copies of rows that are not
// too old, what absent ids get included. That is not the same for all who ask
// (AbsentRows), so those who want one thing share copies.
//
// A copy answers for a time after it was asked for, or, while somebody follows
// the changes of rows and tells of them here, until it is told of one. A
// restore of the shards ends all copies once a reply tells of it. What nobody
// answered (TableLookup::unanswered) is not copied.
//
// Unlike CachingService it knows of no updates: it is for programs that make
// none. Lookups for training, and bags, pass as they are.
//
// Thread-safe and asynchronous, as EmbeddingService says: it has no thread and
// never waits but for short locks.

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
  uint64_t rows = 0;   // Of each table and AbsentRows. 0: there are no copies.
  double seconds = 0;  // How long a copy answers that nobody follows.
  Clock::time_point (*now)() = &Clock::now;
};

class HotRowsService : public CopyingService {
 public:
  HotRowsService(std::unique_ptr<EmbeddingService> inner,
                 const HotRowsOptions& options);
  ~HotRowsService() override;

  // Who follows says so first, and then tells of every change after that;
  // copies from then on do not grow old. Without, they grow old again.
  void SetFollowed(bool followed);

  // Rows (ids.size() x dim) that have changed, and rows that have gone. A table
  // that has no copies, or is of another dim, is passed over.
  // kResourceExhausted if there is no memory; all copies have then ended.
  Status Refresh(TableKey table, uint32_t dim, Span<const int64_t> ids,
                 Span<const float> rows);
  Status Erase(TableKey table, Span<const int64_t> ids);

  // Of all tables.
  RowCacheStats stats() const;

 private:
  bool CopiesMayAnswer(const LookupRequest& request) const override;
  // Of a table: a cache for each AbsentRows that somebody asked for.
  std::vector<RowCache*> Find(TableKey table) const;
  template <typename Change>
  Status TellAll(TableKey table, const Change& change);
  // The nanoseconds of the clock, which are above 0.
  uint64_t Now() const;
  // These require mutex_.
  CachedLookup::Moment TakeMoment(const LookupRequest& request) const override;
  std::shared_ptr<RowCache> CacheOf(const TableLookup& table) override;
  void EndAllCopies() override;

  const HotRowsOptions options_;
  // All below: guarded by mutex_. Caches are never taken away.
  std::map<std::pair<TableKey, AbsentRows>, std::shared_ptr<RowCache>> caches_;
  std::optional<uint64_t> followed_since_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_HOT_ROWS_SERVICE_H_
