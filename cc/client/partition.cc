#include "cc/client/partition.h"

#include <algorithm>
#include <limits>

#include "cc/wire/vector_kernels.h"

namespace persia {
namespace {

Status NoMemory(size_t ids) {
  return Status(Code::kResourceExhausted,
                Concat("no memory to split a request of ", ids, " ids"));
}

// Whether a table's shard_starts fit its ids and these owners. Starts that were
// computed for other ids would send ids to the wrong shards; to notice this,
// checks the first and the last id of each shard.
bool KnowsStarts(const Partition::Table& table, const SlotOwners& owners) {
  const Span<const uint32_t> starts = table.shard_starts;
  const uint32_t shards = owners.shards();
  if (table.starts_of != owners.fingerprint() ||
      starts.size() != shards + size_t{1} || starts[0] != 0 ||
      starts[shards] != table.ids.size()) {
    return false;
  }
  for (uint32_t s = 0; s < shards; ++s) {
    if (starts[s] > starts[s + 1] || starts[s + 1] > table.ids.size()) {
      return false;
    }
    if (starts[s] == starts[s + 1]) continue;
    if (owners.OwnerOf(table.ids[starts[s]]) != s ||
        owners.OwnerOf(table.ids[starts[s + 1] - 1]) != s) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status Partition::Build(const std::vector<Table>& tables,
                        const SlotOwners& owners) {
  shard_count_ = owners.shards();
  const size_t split = SetTables(tables, owners);
  // The positions of split ids are stored in 32 bits.
  if (split > std::numeric_limits<uint32_t>::max() ||
      !shards_.Resize(split * sizeof(uint32_t))) {
    return NoMemory(split);
  }
  const size_t regrouped = FindStarts(owners);
  if (!ids_.Resize(regrouped * sizeof(int64_t)) ||
      !positions_.Resize(regrouped * sizeof(uint32_t))) {
    return NoMemory(regrouped);
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (tables_[t].regrouped) Regroup(t);
  }
  return Status();
}

// Stores the tables. Returns the number of ids whose shards must be computed.
size_t Partition::SetTables(const std::vector<Table>& tables,
                            const SlotOwners& owners) {
  tables_.assign(tables.size(), Group());
  starts_.assign(tables.size() * (shard_count_ + size_t{1}), 0);
  size_t split = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    Group& group = tables_[t];
    group.table = tables[t];
    if (shard_count_ == 1) group.table.owner = 0;
    group.shards_first = split;
    if (group.table.owner) continue;
    group.starts_known = KnowsStarts(group.table, owners);
    if (!group.starts_known) split += group.table.ids.size();
  }
  return split;
}

// Finds where each shard's vectors start. Returns the number of ids that must
// be regrouped, that is, copied in the order of their shards.
size_t Partition::FindStarts(const SlotOwners& owners) {
  size_t regrouped = 0;
  for (size_t t = 0; t < tables_.size(); ++t) {
    Group& group = tables_[t];
    group.first = regrouped;
    if (group.table.owner) {
      StartWhole(t);
    } else if (group.starts_known) {
      StartGrouped(t);
    } else {
      group.regrouped = !StartSplit(t, owners);
    }
    if (group.regrouped) regrouped += group.table.ids.size();
  }
  return regrouped;
}

void Partition::StartWhole(size_t table) {
  const Table& whole = tables_[table].table;
  for (uint32_t s = *whole.owner; s < shard_count_; ++s) {
    starts(table)[s + 1] = whole.vectors;
  }
}

void Partition::StartGrouped(size_t table) {
  const Span<const uint32_t> known = tables_[table].table.shard_starts;
  std::copy(known.begin(), known.end(), starts(table));
}

// Finds the shard of each id of the table. Returns whether the ids are already
// grouped by shard.
bool Partition::StartSplit(size_t table, const SlotOwners& owners) {
  const Ids ids = tables_[table].table.ids;
  uint32_t* const shards = shards_of(table);
  size_t* const ends = starts(table) + 1;
  bool grouped = true;
  uint32_t last = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t shard = owners.OwnerOf(ids[i]);
    grouped &= shard >= last;
    last = shard;
    shards[i] = shard;
    ++ends[shard];  // Counts ids; the next loop turns counts into ends.
  }
  for (uint32_t s = 1; s < shard_count_; ++s) ends[s] += ends[s - 1];
  return grouped;
}

void Partition::Regroup(size_t table) {
  const Group& group = tables_[table];
  const Ids ids = group.table.ids;
  const uint32_t* const shards = shards_of(table);
  std::vector<size_t> next(starts(table), starts(table) + shard_count_);
  auto* const grouped = reinterpret_cast<int64_t*>(ids_.data()) + group.first;
  auto* const positions =
      reinterpret_cast<uint32_t*>(positions_.data()) + group.first;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t place = next[shards[i]]++;
    grouped[place] = ids[i];
    positions[place] = static_cast<uint32_t>(i);
  }
}

Partition::Ids Partition::ids(size_t table, uint32_t shard) const {
  const Group& group = tables_[table];
  if (group.table.owner) {
    return *group.table.owner == shard ? group.table.ids : Ids();
  }
  const int64_t* all = group.table.ids.data();
  if (group.regrouped) {
    all = reinterpret_cast<const int64_t*>(ids_.data()) + group.first;
  }
  return Ids(all + starts(table)[shard], count(table, shard));
}

VectorPlaces Partition::places(size_t table, uint32_t shard) const {
  const Group& group = tables_[table];
  VectorPlaces places;
  places.count = count(table, shard);
  places.first = starts(table)[shard];
  if (group.regrouped) {
    places.indices = reinterpret_cast<const uint32_t*>(positions_.data()) +
                     group.first + places.first;
  }
  return places;
}

bool Partition::HasWork(uint32_t shard) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (count(t, shard) > 0) return true;
  }
  return false;
}

void Partition::Gather(size_t table, uint32_t shard, size_t dim,
                       const float* from_all, float* to_shard) const {
  GatherFloats(from_all, places(table, shard), dim, to_shard);
}

}  // namespace persia
