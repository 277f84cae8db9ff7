#include "cc/service/caching_service.h"

#include <algorithm>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"

namespace persia {
namespace {

// Whether a lookup's sizes match the cache. A malformed lookup bypasses the
// cache, and the store refuses it.
bool Fits(const RowCache& cache, const TableLookup& table) {
  return table.ids.dim == cache.dim() &&
         table.rows.size() == table.ids.ids.size() * cache.dim();
}

}  // namespace

CachingService::CachingService(std::unique_ptr<EmbeddingService> inner,
                               const CacheOptions& options)
    : CopyingService(std::move(inner)), options_(options) {}

CachingService::~CachingService() { End(); }

void CachingService::CreateTable(CreateTableRequest* request,
                                 DoneCallback done) {
  inner()->CreateTable(
      request, [this, request, done = std::move(done)](Status status) {
        const bool is_there = request->state != TableState::kAbsent;
        if (status.ok() && is_there) {
          std::lock_guard<std::mutex> lock(mutex_);
          NoteGeneration(request->generation);
          // Without memory for a cache, the table is not cached.
          static_cast<void>(CatchBadAlloc([&] {
            AddTable(request->config);
            return Status();
          }));
        }
        done(std::move(status));
      });
}

void CachingService::AddTable(const TableConfig& config) {
  const TableKey key = HashName(config.name);
  const auto chosen = options_.rows_of.find(key);
  const uint64_t rows =
      chosen == options_.rows_of.end() ? options_.rows : chosen->second;
  if (rows == 0 || config.admission.name != "always") return;
  if (tables_.find(key) != tables_.end()) return;
  auto cache = std::make_shared<RowCache>(config.dim, rows);
  tables_.emplace(key, Cached{config.name, std::move(cache)});
}

bool CachingService::CopiesMayAnswer(const LookupRequest& request) const {
  return request.client != 0;
}

CachedLookup::Moment CachingService::TakeMoment(
    const LookupRequest& request) const {
  CachedLookup::Moment moment;
  moment.since = epochs_.Since(request.client, request.visible_sequence);
  moment.now = epochs_.now();
  return moment;
}

std::shared_ptr<RowCache> CachingService::CacheOf(const TableLookup& table) {
  const auto found = tables_.find(table.ids.table);
  const bool is_cached =
      found != tables_.end() && Fits(*found->second.rows, table);
  return is_cached ? found->second.rows : nullptr;
}

void CachingService::Update(UpdateRequest* request, DoneCallback done) {
  inner()->Update(request,
                  [this, client = request->client, sequence = request->sequence,
                   done = std::move(done)](Status status) {
                    {
                      std::lock_guard<std::mutex> lock(mutex_);
                      if (!status.ok()) {
                        epochs_.Forget(client);
                        EndAllCopies();
                      } else if (client == 0) {
                        epochs_.Advance();
                      } else {
                        epochs_.Acknowledge(client, sequence);
                      }
                    }
                    done(std::move(status));
                  });
}

void CachingService::Assign(AssignRequest* request, DoneCallback done) {
  inner()->Assign(request, [this, table = request->table,
                            done = std::move(done)](Status status) {
    EndCopiesOf(table);
    done(std::move(status));
  });
}

void CachingService::Remove(RemoveRequest* request, DoneCallback done) {
  inner()->Remove(request, [this, table = request->table,
                            done = std::move(done)](Status status) {
    EndCopiesOf(table);
    done(std::move(status));
  });
}

// A table that was only cleared (`stays`) remains cached. The cache of a
// dropped table is destroyed, because the table may be created again with
// another width.
void CachingService::DropTable(DropTableRequest* request, DoneCallback done) {
  inner()->DropTable(request,
                     [this, table = request->table, stays = request->stays,
                      done = std::move(done)](Status status) {
                       EndCopiesOf(table);
                       if (status.ok() && !stays) {
                         std::lock_guard<std::mutex> lock(mutex_);
                         tables_.erase(table);
                       }
                       done(std::move(status));
                     });
}

void CachingService::EndCopiesOf(TableKey table) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t epoch = epochs_.Advance();
  const auto found = tables_.find(table);
  if (found != tables_.end()) found->second.rows->Invalidate(epoch);
}

void CachingService::EndAllCopies() {
  const uint64_t epoch = epochs_.Advance();
  for (const auto& [key, table] : tables_) table.rows->Invalidate(epoch);
}

std::vector<CachedTable> CachingService::tables() const {
  std::vector<CachedTable> tables;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, table] : tables_) {
    tables.push_back({table.name, table.rows->dim(), table.rows->capacity(),
                      table.rows->stats()});
  }
  std::sort(tables.begin(), tables.end(),
            [](const CachedTable& a, const CachedTable& b) {
              return a.name < b.name;
            });
  return tables;
}

}  // namespace persia
