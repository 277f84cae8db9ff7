#include "benchmarks/lookup_bench/request_ids.h"

namespace persia::bench {

RequestIds::RequestIds(const Workload* workload, size_t tables, size_t shards)
    : workload_(workload),
      tables_(tables),
      owners_(SlotOwners::Even(static_cast<uint32_t>(shards))) {
  for (size_t request = 0; request < workload->requests(); ++request) {
    unique_.push_back(Dedupe(request));
  }
}

size_t RequestIds::CountRows(const OfTables& unique) {
  size_t rows = 0;
  for (const UniqueIds& one : unique) rows += one.ids.size();
  return rows;
}

RequestIds::OfTables RequestIds::Dedupe(size_t request) const {
  OfTables unique;
  if (tables_ == 1) {
    unique.push_back(persia::Dedupe(workload_->ids(request), owners_.get()));
    return unique;
  }
  for (size_t feature = 0; feature < tables_; ++feature) {
    unique.push_back(
        persia::Dedupe(workload_->ids(request, feature), owners_.get()));
  }
  return unique;
}

}  // namespace persia::bench
