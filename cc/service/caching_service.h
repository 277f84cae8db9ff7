// CachingService: answers lookups from copies of hot rows, if the copies
// reflect all updates that the client must see.
//
// A lookup names its client and the newest of that client's updates that the
// rows must reflect. A copy may answer if it was requested from the store after
// this service had acknowledged that update and all earlier updates of the
// client. Copies never answer a lookup of client 0, nor of a client or an
// update that UpdateEpochs no longer remembers. All updates and lookups that a
// client makes of an id must pass through the same CachingService.
//
// Only training lookups create copies, because a read-only lookup may get an
// absent id's default value. Assign, Remove and DropTable invalidate all copies
// of their table; a failed update or a change of the store's generation
// invalidates all copies of all tables. A restore changes the generation, so
// copies from before a restore stop answering once any reply has carried the
// new generation.
//
// Copies have side effects, so some tables may be better left uncached:
// - Training lookups that copies answer do not reach the store. The store's
//   eviction does not count them as uses of a row. If the store evicts a row,
//   the row's copy may still answer until it is replaced or too old for the
//   client that looks it up.
// - Tables whose admission counts lookups are never cached, because lookups of
//   ids that wait for admission must reach the store.
// - If client A updates a row, client B sees the update only when the row's
//   copy has become too old for B, at the latest after B's own next update. If
//   B makes no updates, it sees A's update when the copy is replaced or
//   invalidated.
//
// Lookups of bags go to the inner service unchanged. Thread-safe and
// asynchronous, as EmbeddingService requires: this class has no thread and
// never waits.

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
  // The caller of the functions below must hold mutex_.
  CachedLookup::Moment TakeMoment(const LookupRequest& request) const override;
  std::shared_ptr<RowCache> CacheOf(const TableLookup& table) override;
  void EndAllCopies() override;
  void AddTable(const TableConfig& config);

  const CacheOptions options_;
  // The members below are guarded by mutex_.
  std::map<TableKey, Cached> tables_;
  UpdateEpochs epochs_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CACHING_SERVICE_H_
