#include "cc/client/partition.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cc/base/hash.h"

namespace persia {
namespace {

// copy(i, bytes) copies the i-th vector. A constant number of bytes becomes a
// few instructions instead of a call.
template <typename Copy>
void ForEachVector(size_t count, size_t dim, Copy copy) {
  const auto run = [&](auto bytes) {
    for (size_t i = 0; i < count; ++i) copy(i, bytes);
  };
  switch (dim) {
    case 8:
      return run(std::integral_constant<size_t, 32>());
    case 16:
      return run(std::integral_constant<size_t, 64>());
    case 32:
      return run(std::integral_constant<size_t, 128>());
    case 64:
      return run(std::integral_constant<size_t, 256>());
    default:
      return run(dim * sizeof(float));
  }
}

}  // namespace

Status Partition::Build(const std::vector<Ids>& tables, uint32_t shard_count) {
  shard_count_ = shard_count;
  tables_ = tables;
  if (shard_count == 1) return Status();
  size_t total = 0;
  size_t largest = 0;
  for (const Ids& ids : tables) {
    total += ids.size();
    largest = std::max(largest, ids.size());
  }
  if (largest > std::numeric_limits<uint32_t>::max() ||
      !shards_.Resize(largest * sizeof(uint32_t)) ||
      !ids_.Resize(total * sizeof(int64_t)) ||
      !positions_.Resize(total * sizeof(uint32_t))) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory to split a request of ", total, " ids"));
  }
  starts_.resize(tables.size() * (shard_count + size_t{1}));
  size_t first = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    BuildTable(t, first);
    first += tables[t].size();
  }
  return Status();
}

void Partition::BuildTable(size_t table, size_t first) {
  const Ids ids = tables_[table];
  const Span<uint32_t> shards = shards_.As<uint32_t>(ids.size());
  size_t* const starts = &starts_[table * (shard_count_ + size_t{1})];
  // Each shard's count, one place up; then its start; once filled, its end.
  std::vector<size_t> ends(shard_count_ + size_t{1}, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    shards[i] = ShardOf(ids[i], shard_count_);
    ++ends[shards[i] + 1];
  }
  ends[0] = first;
  for (uint32_t s = 0; s < shard_count_; ++s) ends[s + 1] += ends[s];
  std::copy(ends.begin(), ends.end(), starts);
  auto* const grouped = reinterpret_cast<int64_t*>(ids_.data());
  auto* const positions = reinterpret_cast<uint32_t*>(positions_.data());
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t place = ends[shards[i]]++;
    grouped[place] = ids[i];
    positions[place] = static_cast<uint32_t>(i);
  }
}

Partition::Ids Partition::ids(size_t table, uint32_t shard) const {
  if (shard_count_ == 1) return tables_[table];
  const auto* grouped = reinterpret_cast<const int64_t*>(ids_.data());
  return Ids(grouped + start(table, shard),
             start(table, shard + 1) - start(table, shard));
}

Span<const uint32_t> Partition::positions(size_t table, uint32_t shard) const {
  const auto* positions = reinterpret_cast<const uint32_t*>(positions_.data());
  return Span<const uint32_t>(positions + start(table, shard),
                              start(table, shard + 1) - start(table, shard));
}

bool Partition::HasWork(uint32_t shard) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (!ids(t, shard).empty()) return true;
  }
  return false;
}

void Partition::Gather(size_t table, uint32_t shard, size_t dim,
                       const float* from_all, float* to_shard) const {
  if (shard_count_ == 1) {
    std::copy_n(from_all, tables_[table].size() * dim, to_shard);
    return;
  }
  const Span<const uint32_t> from = positions(table, shard);
  ForEachVector(from.size(), dim, [&](size_t i, auto bytes) {
    std::memcpy(to_shard + i * dim, from_all + from[i] * dim, bytes);
  });
}

void Partition::Scatter(size_t table, uint32_t shard, size_t dim,
                        const float* from_shard, float* to_all) const {
  if (shard_count_ == 1) {
    std::copy_n(from_shard, tables_[table].size() * dim, to_all);
    return;
  }
  const Span<const uint32_t> to = positions(table, shard);
  ForEachVector(to.size(), dim, [&](size_t i, auto bytes) {
    std::memcpy(to_all + to[i] * dim, from_shard + i * dim, bytes);
  });
}

}  // namespace persia
