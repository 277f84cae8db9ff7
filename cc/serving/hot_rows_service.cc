#include "cc/serving/hot_rows_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

uint64_t Nanoseconds(Clock::duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

}  // namespace

HotRowsService::HotRowsService(std::unique_ptr<EmbeddingService> inner,
                               const HotRowsOptions& options)
    : CopyingService(std::move(inner)), options_(options) {}

HotRowsService::~HotRowsService() { End(); }

bool HotRowsService::CopiesMayAnswer(const LookupRequest& request) const {
  if (!request.read_only || options_.rows == 0) return false;
  if (options_.seconds > 0) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  return followed_since_.has_value();
}

CachedLookup::Moment HotRowsService::TakeMoment(
    const LookupRequest& /*request*/) const {
  CachedLookup::Moment moment;
  moment.now = Now();
  const uint64_t age = Nanoseconds(std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options_.seconds)));
  moment.since = moment.now - std::min(age, moment.now - 1);
  if (followed_since_) moment.since = std::min(moment.since, *followed_since_);
  moment.copies_read_only = true;
  return moment;
}

std::shared_ptr<RowCache> HotRowsService::CacheOf(const TableLookup& table) {
  if (table.ids.dim == 0 || table.ids.dim > kMaxDim ||
      table.rows.size() != table.ids.ids.size() * table.ids.dim) {
    return nullptr;
  }
  std::shared_ptr<RowCache>& cache = caches_[{table.ids.table, table.absent}];
  if (cache == nullptr) {
    cache = std::make_shared<RowCache>(table.ids.dim, options_.rows);
  }
  return cache->dim() == table.ids.dim ? cache : nullptr;
}

void HotRowsService::EndAllCopies() {
  for (const auto& [key, cache] : caches_) cache->Invalidate(Now());
}

void HotRowsService::SetFollowed(bool followed) {
  std::lock_guard<std::mutex> lock(mutex_);
  followed_since_ = followed ? std::optional<uint64_t>(Now()) : std::nullopt;
}

Status HotRowsService::Refresh(TableKey table, uint32_t dim,
                               Span<const int64_t> ids,
                               Span<const float> rows) {
  return TellAll(table, [&](RowCache* cache) {
    if (cache->dim() == dim) cache->Refresh(ids, rows, Now());
  });
}

Status HotRowsService::Erase(TableKey table, Span<const int64_t> ids) {
  return TellAll(table, [&](RowCache* cache) { cache->Erase(ids, Now()); });
}

std::vector<RowCache*> HotRowsService::Find(TableKey table) const {
  std::vector<RowCache*> found;
  std::lock_guard<std::mutex> lock(mutex_);
  auto next = caches_.lower_bound({table, AbsentRows::kDefault});
  for (; next != caches_.end() && next->first.first == table; ++next) {
    found.push_back(next->second.get());
  }
  return found;
}

template <typename Change>
Status HotRowsService::TellAll(TableKey table, const Change& change) {
  Status told;
  for (RowCache* const cache : Find(table)) {
    const Status status = CatchBadAlloc([&] {
      change(cache);
      return Status();
    });
    if (status.ok()) continue;
    // This cache failed to apply the change, so one of its copies may be stale:
    // all of its copies are invalidated.
    cache->Invalidate(Now());
    told = status;
  }
  return told;
}

uint64_t HotRowsService::Now() const {
  return 1 + Nanoseconds(options_.now().time_since_epoch());
}

RowCacheStats HotRowsService::stats() const {
  RowCacheStats all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, cache] : caches_) {
    const RowCacheStats stats = cache->stats();
    all.rows += stats.rows;
    all.bytes += stats.bytes;
    all.hits += stats.hits;
    all.misses += stats.misses;
    all.evictions += stats.evictions;
  }
  return all;
}

}  // namespace persia
