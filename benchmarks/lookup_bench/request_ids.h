// RequestIds: the workload's requests without duplicates, table by table.

#ifndef PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUEST_IDS_H_
#define PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUEST_IDS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "benchmarks/support/workload_file.h"
#include "cc/base/dedupe.h"

namespace persia::bench {

// Immutable, so thread-safe.
class RequestIds {
 public:
  using OfTables = std::vector<UniqueIds>;

  // `tables` is 1, or the number of features. The ids are ordered by shard.
  RequestIds(const Workload* workload, size_t tables, size_t shards);

  size_t requests() const { return unique_.size(); }
  size_t tables() const { return tables_; }

  // The ids of a request, deduplicated by the constructor.
  const OfTables& unique(size_t request) const { return unique_[request]; }
  static size_t CountRows(const OfTables& unique);

  // The same ids, deduplicated by this call.
  OfTables Dedupe(size_t request) const;

 private:
  const Workload* const workload_;
  const size_t tables_;
  const std::shared_ptr<const SlotOwners> owners_;
  std::vector<OfTables> unique_;
};

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUEST_IDS_H_
