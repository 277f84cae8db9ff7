// Reads a file, written by a driver, with the rows of a service and requests
// for them. The file has, in the machine's byte order:
//
//   3 x u64   the number of requests, the number of features, and the number of
//             ids per feature and request
//   u64 each  the number of rows of each feature
//   i64 each  the id of every row, feature by feature
//   u32 each  the ids of every request, as indices into these rows

#ifndef PERSIA_BENCHMARKS_SUPPORT_WORKLOAD_FILE_H_
#define PERSIA_BENCHMARKS_SUPPORT_WORKLOAD_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/span.h"

namespace persia::bench {

// Immutable, so thread-safe.
class Workload {
 public:
  // Ends the program, with a message, if there is no such file.
  explicit Workload(const std::string& path);

  size_t requests() const { return requests_; }
  size_t features() const { return sizes_.size(); }
  size_t rows() const { return rows_.size(); }

  // The ids of a feature's rows.
  Span<const int64_t> rows_of(size_t feature) const;

  // The ids of a request, for one feature and for all, duplicates included.
  Span<const int64_t> ids(size_t request, size_t feature) const;
  Span<const int64_t> ids(size_t request) const;

  // The indices of the rows of ids(request) in a flat array of all rows.
  Span<const uint32_t> places(size_t request) const;

 private:
  size_t request_size() const { return features() * list_size_; }

  size_t requests_ = 0;
  size_t list_size_ = 0;
  std::vector<uint64_t> sizes_;
  std::vector<int64_t> rows_;
  std::vector<uint32_t> places_;
  std::vector<int64_t> ids_;
};

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_WORKLOAD_FILE_H_
