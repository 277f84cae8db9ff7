// Partition: the ids of a request's tables, grouped by the shard that they go
// to, in the order that they had.
//
// Used again and again, so that it keeps its memory. Not thread-safe while it
// is built, then immutable.

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

  // A table's ids. Each has one vector and goes to the shard that holds it;
  // with an owner, all go there together, for so many vectors.
  struct Table {
    Ids ids;
    size_t vectors = 0;
    std::optional<uint32_t> owner;
  };
  static Table Split(Ids ids) { return {ids, ids.size(), std::nullopt}; }
  static Table Whole(Ids ids, size_t vectors, uint32_t owner) {
    return {ids, vectors, owner};
  }

  // The tables' ids must live as long as the partition is used. Ids that are
  // not split, or are grouped by shard already, are not copied.
  // kResourceExhausted if there is no memory.
  Status Build(const std::vector<Table>& tables, uint32_t shard_count);

  uint32_t shard_count() const { return shard_count_; }
  size_t table_count() const { return tables_.size(); }

  Ids ids(size_t table, uint32_t shard) const;

  // Where the shard's vectors are among the caller's. Contiguous unless ids had
  // to be regrouped.
  VectorPlaces places(size_t table, uint32_t shard) const;

  // Whether the shard has any vector at all.
  bool HasWork(uint32_t shard) const;

  // Vectors of a table between the caller's order (all vectors) and one
  // shard's, `dim` floats each.
  void Gather(size_t table, uint32_t shard, size_t dim, const float* from_all,
              float* to_shard) const;
  void Scatter(size_t table, uint32_t shard, size_t dim,
               const float* from_shard, float* to_all) const;

 private:
  struct Group {
    Table table;
    size_t shards_first = 0;  // Of its ids' in shards_.
    bool regrouped = false;   // Whether its ids had to be copied
    size_t first = 0;         // to ids_, from here on, and positions_.
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
  // A table's shards, and their end, among its vectors by shard.
  std::vector<size_t> starts_;
  ByteBuffer shards_;     // u32 an id that is split.
  ByteBuffer ids_;        // i64, by table and shard, if regrouped.
  ByteBuffer positions_;  // u32, likewise: where the id was.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PARTITION_H_
