// Partition: the ids of a request's tables, grouped by the owners of their
// slots; the order within a shard is preserved.
//
// A partition retains its memory for the next Build. Build is not thread-safe;
// after Build the partition is immutable.

#ifndef PERSIA_CC_CLIENT_PARTITION_H_
#define PERSIA_CC_CLIENT_PARTITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/slots.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/vector_places.h"

namespace persia {

class Partition {
 public:
  using Ids = Span<const int64_t>;

  // The ids of one table. Without an owner, each id has one vector and goes to
  // the shard that holds its row. With an owner, all ids go to shard `owner`
  // and share `vectors` vectors, such as one vector per bag.
  struct Table {
    Ids ids;
    size_t vectors = 0;
    std::optional<uint32_t> owner;
    // Optional; see TableIds.
    Span<const uint32_t> shard_starts;
    uint64_t starts_of = 0;
  };
  static Table Split(Ids ids) { return {ids, ids.size(), std::nullopt, {}, 0}; }
  static Table Split(const TableIds& ids) {
    return {ids.ids, ids.ids.size(), std::nullopt, ids.shard_starts,
            ids.starts_of};
  }
  static Table Whole(Ids ids, size_t vectors, uint32_t owner) {
    return {ids, vectors, owner, {}, 0};
  }

  // Groups the ids. The tables' ids must live as long as the partition is used,
  // since ids that are not split, or are already grouped by shard, are not
  // copied. Returns kResourceExhausted if memory runs out.
  Status Build(const std::vector<Table>& tables, const SlotOwners& owners);

  uint32_t shard_count() const { return shard_count_; }

  Ids ids(size_t table, uint32_t shard) const;

  // Returns the positions of a shard's vectors in the caller's array of the
  // table's vectors. The positions are contiguous unless the ids had to be
  // regrouped.
  VectorPlaces places(size_t table, uint32_t shard) const;

  // Whether the shard has at least one vector.
  bool HasWork(uint32_t shard) const;

  // Copies a shard's vectors of a table, `dim` floats each, from the caller's
  // array of all vectors to a contiguous array.
  void Gather(size_t table, uint32_t shard, size_t dim, const float* from_all,
              float* to_shard) const;

 private:
  struct Group {
    Table table;
    // Whether the table's shard_starts are right for its ids.
    bool starts_known = false;
    // The index in shards_ of the table's first id.
    size_t shards_first = 0;
    // Whether the table's ids were copied to ids_, in the order of their
    // shards.
    bool regrouped = false;
    // If regrouped, the index in ids_ and positions_ of the table's first id.
    size_t first = 0;
  };

  size_t SetTables(const std::vector<Table>& tables, const SlotOwners& owners);
  size_t FindStarts(const SlotOwners& owners);
  void StartWhole(size_t table);
  void StartGrouped(size_t table);
  bool StartSplit(size_t table, const SlotOwners& owners);
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
  // For each table: the index of each shard's first vector when the table's
  // vectors are ordered by shard, followed by the number of vectors.
  std::vector<size_t> starts_;
  // The shard of each split id, as u32.
  ByteBuffer shards_;
  // The regrouped ids as i64, ordered by table and then by shard.
  ByteBuffer ids_;
  // For each id in ids_, its index among the table's original ids, as u32.
  ByteBuffer positions_;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PARTITION_H_
