// Partition: the ids of a request's tables, grouped by the shard that they go
// to; the order within a shard is preserved.
//
// Retains its memory for the next Build. Not thread-safe during Build, then
// immutable.

#ifndef PERSIA_CC_CLIENT_PARTITION_H_
#define PERSIA_CC_CLIENT_PARTITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/wire/vector_places.h"

namespace persia {

class Partition {
 public:
  using Ids = Span<const int64_t>;

  // A table's ids. Without an owner, each id has one vector and goes to the
  // shard that holds its row. With an owner, all ids go to that shard, for
  // `vectors` vectors.
  struct Table {
    Ids ids;
    size_t vectors = 0;
    std::optional<uint32_t> owner;
  };
  static Table Split(Ids ids) { return {ids, ids.size(), std::nullopt}; }
  static Table Whole(Ids ids, size_t vectors, uint32_t owner) {
    return {ids, vectors, owner};
  }

  // The tables' ids must live as long as the partition is used: ids that are
  // not split, or are grouped by shard already, are not copied.
  // kResourceExhausted if memory runs out.
  Status Build(const std::vector<Table>& tables, uint32_t shard_count);

  uint32_t shard_count() const { return shard_count_; }
  size_t table_count() const { return tables_.size(); }

  Ids ids(size_t table, uint32_t shard) const;

  // The positions of the shard's vectors among the caller's. Contiguous unless
  // the ids had to be regrouped.
  VectorPlaces places(size_t table, uint32_t shard) const;

  // Whether the shard has at least one vector.
  bool HasWork(uint32_t shard) const;

  // Copies a shard's vectors of a table, `dim` floats each, from the caller's
  // array of all vectors to a contiguous array (Gather), or back (Scatter).
  void Gather(size_t table, uint32_t shard, size_t dim, const float* from_all,
              float* to_shard) const;
  void Scatter(size_t table, uint32_t shard, size_t dim,
               const float* from_shard, float* to_all) const;

 private:
  struct Group {
    Table table;
    size_t shards_first = 0;  // The index of its first id in shards_.
    bool regrouped = false;   // Whether its ids were copied to ids_.
    size_t first = 0;         // If so, their start in ids_ and positions_.
  };

  size_t SetTables(const std::vector<Table>& tables);
  size_t FindStarts();
  void StartWhole(size_t table);
  bool StartSplit(size_t table);
  void Regroup(size_t table);

  uint32_t* shards_of(size_t table) {
    return reinterpret_cast<uint32_t*>(shards_.data()) +
           tables_[table].shards_first;
  }
  size_t* starts(size_t table) {
    return &starts_[table * (shard_count_ + size_t{1})];
  }
  const size_t* starts(size_t table) const {
    return &starts_[table * (shard_count_ + size_t{1})];
  }
  size_t count(size_t table, uint32_t shard) const {
    return starts(table)[shard + 1] - starts(table)[shard];
  }

  uint32_t shard_count_ = 1;
  std::vector<Group> tables_;
  // For each table: where each shard's vectors start if the vectors are ordered
  // by shard, and their total.
  std::vector<size_t> starts_;
  ByteBuffer shards_;     // u32 per id that is split: its shard.
  ByteBuffer ids_;        // i64: regrouped ids, by table and then shard.
  ByteBuffer positions_;  // u32 per id in ids_: its index among its table's.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PARTITION_H_
