// Partition: the ids of a request's tables, grouped by the shard that holds
// them, in the order that they had.
//
// Used again and again, so that it keeps its memory. Not thread-safe while it
// is built, then immutable.

#ifndef PERSIA_CC_CLIENT_PARTITION_H_
#define PERSIA_CC_CLIENT_PARTITION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

class Partition {
 public:
  using Ids = Span<const int64_t>;

  // The tables' ids must live as long as the partition is used. A single shard
  // copies nothing. kResourceExhausted if there is no memory.
  Status Build(const std::vector<Ids>& tables, uint32_t shard_count);

  uint32_t shard_count() const { return shard_count_; }
  size_t table_count() const { return tables_.size(); }

  Ids ids(size_t table, uint32_t shard) const;

  // Whether the shard has any id at all.
  bool HasWork(uint32_t shard) const;

  // Vectors of a table between the caller's order (all ids) and one shard's,
  // `dim` floats each.
  void Gather(size_t table, uint32_t shard, size_t dim, const float* from_all,
              float* to_shard) const;
  void Scatter(size_t table, uint32_t shard, size_t dim,
               const float* from_shard, float* to_all) const;

 private:
  void BuildTable(size_t table, size_t first);
  // Where each id of ids(table, shard) was.
  Span<const uint32_t> positions(size_t table, uint32_t shard) const;
  size_t start(size_t table, uint32_t shard) const {
    return starts_[table * (shard_count_ + 1) + shard];
  }

  uint32_t shard_count_ = 1;
  std::vector<Ids> tables_;
  // Without content for a single shard.
  ByteBuffer shards_;           // u32 an id of the table at hand.
  ByteBuffer ids_;              // i64, by table and shard.
  ByteBuffer positions_;        // u32, likewise.
  std::vector<size_t> starts_;  // A table's shards in them, and their end.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PARTITION_H_
