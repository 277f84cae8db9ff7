#include "cc/service/cached_lookup.h"

#include <algorithm>
#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {

CachedLookup::CachedLookup(LookupRequest* request, const Moment& moment)
    : outer_(request), moment_(moment), inner_(*request) {
  inner_.tables.clear();
}

Status CachedLookup::AddTable(std::shared_ptr<RowCache> cache) {
  const TableLookup& table = outer_->tables[next_table_];
  parts_.emplace_back();
  Part& part = parts_.back();
  part.table = next_table_++;
  part.cache = std::move(cache);
  const size_t ids = table.ids.ids.size();
  if (part.cache != nullptr) {
    part.cache->Find(table.ids.ids, moment_.since, table.rows, &part.missing);
    took_copies_ |= part.missing.size() < ids;
    if (part.missing.empty()) {
      parts_.pop_back();
      return Status();
    }
    if (part.missing.size() < ids) return RequestMissing(&part);
  }
  inner_.tables.push_back(table);
  return Status();
}

Status CachedLookup::RequestMissing(Part* part) {
  TableLookup rest = outer_->tables[part->table];
  for (const uint32_t place : part->missing) {
    part->ids.push_back(rest.ids.ids[place]);
  }
  const size_t floats = part->ids.size() * rest.ids.dim;
  if (!part->rows.Resize(floats * sizeof(float))) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory for ", floats,
                         " numbers of rows that are not cached: give this "
                         "process more memory"));
  }
  rest.ids.ids = part->ids;
  rest.ids.shard_starts = {};
  rest.ids.starts_of = 0;
  rest.rows = part->rows.As<float>(floats);
  inner_.tables.push_back(rest);
  return Status();
}

bool CachedLookup::FinishFromCopies() {
  if (!took_copies_ || !inner_.tables.empty()) return false;
  outer_->generation = moment_.generation;
  return true;
}

bool CachedLookup::MixesGenerations() const {
  return took_copies_ && inner_.generation != moment_.generation;
}

void CachedLookup::Finish() {
  outer_->generation = inner_.generation;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    const TableLookup& fetched = inner_.tables[p];
    const size_t dim = fetched.ids.dim;
    float* rows = outer_->tables[part.table].rows.data();
    for (size_t i = 0; i < part.ids.size(); ++i) {
      std::copy_n(fetched.rows.data() + i * dim, dim,
                  rows + part.missing[i] * dim);
    }
    if (part.cache == nullptr) continue;
    if (outer_->read_only && !moment_.copies_read_only) continue;
    // Without memory for copies, the lookup still succeeds.
    static_cast<void>(CatchBadAlloc([&] {
      Keep(part.cache.get(), fetched, moment_.now);
      return Status();
    }));
  }
}

// Caches the fetched rows, but not those that no server answered: they are only
// zeros.
void CachedLookup::Keep(RowCache* cache, const TableLookup& fetched,
                        uint64_t epoch) {
  if (fetched.unanswered.empty()) {
    return cache->Insert(fetched.ids.ids, fetched.rows, epoch);
  }
  std::vector<uint32_t> unanswered = fetched.unanswered;
  std::sort(unanswered.begin(), unanswered.end());
  std::vector<int64_t> ids;
  std::vector<float> rows;
  for (uint32_t i = 0; i < fetched.ids.ids.size(); ++i) {
    if (std::binary_search(unanswered.begin(), unanswered.end(), i)) continue;
    const float* row = fetched.rows.data() + size_t{i} * fetched.ids.dim;
    ids.push_back(fetched.ids.ids[i]);
    rows.insert(rows.end(), row, row + fetched.ids.dim);
  }
  cache->Insert(ids, rows, epoch);
}

}  // namespace persia
