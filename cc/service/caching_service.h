// CachingService: answers lookups from copies of hot rows, where they reflect
// all that who asks must see.
//
// A lookup names its client and the newest of that client's updates that the
// rows must reflect. A copy may answer if it was asked for after that update,
// and every earlier one of that client, had been acknowledged here. Nothing
// answers client 0, nor a client or an update that is no longer remembered (see
// UpdateEpochs). A client's updates and lookups of an id must all pass through
// one cache.
//
// Copies are made by training lookups alone: what an evaluation gets may be an
// absent id's default value. Assign, Remove and DropTable end all copies of
// their table;
// a failed update, and a generation that changes, all copies there are. So a
// copy never outlives a restore once any reply told of it.
//
// Where copies show, which is why only some tables may be wanted here:
// - Training lookups that copies answer do not reach the store: its eviction
//   does not count them as use, and a row that it evicted meanwhile lives on
//   here until it leaves or is too old for who asks.
// - Tables whose admission counts lookups are never cached: ids that wait for
//   admission must reach the store, and have no row to copy.
// - Updates of other clients show as late as the copies' age allows: at the
//   asking client's next update at the latest, if it updates.
//
// Bags pass as they are. Thread-safe and asynchronous, as EmbeddingService
// says: it has no thread and never waits.

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
  // Rows of each table that rows_of does not name. 0: it is not cached.
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

  // A table is cached once it was made, or attached to, through here.
  void CreateTable(CreateTableRequest* request, DoneCallback done) override;
  void Update(UpdateRequest* request, DoneCallback done) override;
  void Assign(AssignRequest* request, DoneCallback done) override;
  void Remove(RemoveRequest* request, DoneCallback done) override;
  void DropTable(DropTableRequest* request, DoneCallback done) override;

  // The tables that are cached, by name.
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
