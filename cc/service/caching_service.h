// CachingService: answers lookups from copies of hot rows, if the copies
// reflect everything that the client must see.
//
// A lookup names its client and the newest of that client's updates that the
// rows must reflect. A copy may answer if it was requested after that update,
// and all earlier ones of that client, had been acknowledged here. Copies never
// answer client 0, nor a client or an update that is no longer remembered (see
// UpdateEpochs). A client's updates and lookups of an id must all pass through
// the same cache.
//
// Only training lookups create copies: a read-only lookup may get an absent
// id's default value. Assign, Remove and DropTable invalidate all copies of
// their table; a failed update or a change of generation invalidates every
// copy. So once any reply carries the new generation, no copy outlives a
// restore.
//
// Side effects of copies, for which some tables may be better left uncached:
// - Training lookups that copies answer do not reach the store: its eviction
//   does not count them as uses, and a row that it evicted meanwhile stays here
//   until it is replaced or is too old for the client that asks.
// - Tables whose admission counts lookups are never cached: ids that wait for
//   admission must reach the store, and have no row to copy.
// - Updates of other clients become visible only when the copies are too old
//   for the asking client: at its own next update at the latest, if it updates.
//
// Lookups of bags are passed on unchanged. Thread-safe and asynchronous, as
// EmbeddingService says: it has no thread and never waits.

#ifndef PERSIA_CC_SERVICE_CACHING_SERVICE_H_
#define PERSIA_CC_SERVICE_CACHING_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/service/copying_service.h"
#include "cc/service/row_cache.h"
#include "cc/service/update_epochs.h"

namespace persia {

struct CacheOptions {
  // Capacity, in rows, for each table that rows_of does not name. 0: such a
  // table is not cached.
  uint64_t rows = 0;
  std::map<TableKey, uint64_t> rows_of;
};

struct CachedTable {
  std::string name;
  uint32_t dim = 0;
  uint64_t capacity = 0;
  RowCacheStats rows;
};

class CachingService : public CopyingService {
 public:
  CachingService(std::unique_ptr<EmbeddingService> inner,
                 const CacheOptions& options);
  ~CachingService() override;

  // A table is cached once it has been created or attached to through this
  // service.
  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Update(UpdateRequest* request, DoneCallback done) override;
  void Assign(AssignRequest* request, DoneCallback done) override;
  void Remove(RemoveRequest* request, DoneCallback done) override;
  void DropTable(DropTableRequest* request, DoneCallback done) override;

  // The cached tables, sorted by name.
  std::vector<CachedTable> tables() const;

 private:
  struct Cached {
    std::string name;
    std::shared_ptr<RowCache> rows;
  };

  bool CopiesMayAnswer(const LookupRequest& request) const override;
  void EndCopiesOf(TableKey table);
  // All below require mutex_.
  CachedLookup::Moment TakeMoment(const LookupRequest& request) const override;
  std::shared_ptr<RowCache> CacheOf(const TableLookup& table) override;
  void EndAllCopies() override;
  void AddTable(const TableConfig& config);

  const CacheOptions options_;
  // All below: guarded by mutex_.
  std::map<TableKey, Cached> tables_;
  UpdateEpochs epochs_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CACHING_SERVICE_H_
