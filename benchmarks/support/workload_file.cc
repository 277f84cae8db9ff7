#include "benchmarks/support/workload_file.h"

#include <fstream>
#include <numeric>

#include "benchmarks/support/fail.h"

namespace persia::bench {
namespace {

template <typename T>
std::vector<T> Read(std::ifstream* file, size_t count) {
  std::vector<T> values(count);
  file->read(reinterpret_cast<char*>(values.data()), count * sizeof(T));
  if (!*file) Fail("the file of the workload is absent or ends early");
  return values;
}

}  // namespace

Workload::Workload(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint64_t> header = Read<uint64_t>(&file, 3);
  requests_ = header[0];
  list_size_ = header[2];
  sizes_ = Read<uint64_t>(&file, header[1]);
  rows_ = Read<int64_t>(
      &file, std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0}));
  places_ = Read<uint32_t>(&file, requests_ * request_size());
  ids_.reserve(places_.size());
  for (const uint32_t place : places_) ids_.push_back(rows_.at(place));
}

Span<const int64_t> Workload::rows_of(size_t feature) const {
  const uint64_t begin =
      std::accumulate(sizes_.begin(), sizes_.begin() + feature, uint64_t{0});
  return {rows_.data() + begin, sizes_[feature]};
}

Span<const int64_t> Workload::ids(size_t request, size_t feature) const {
  return ids(request).subspan(feature * list_size_, list_size_);
}

Span<const int64_t> Workload::ids(size_t request) const {
  return {ids_.data() + request * request_size(), request_size()};
}

Span<const uint32_t> Workload::places(size_t request) const {
  return {places_.data() + request * request_size(), request_size()};
}

}  // namespace persia::bench
