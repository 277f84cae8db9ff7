// TableFeed: a table's RowFeed.
//
// Unless it begins now, it walks over all rows first, while what changes is
// noted beside it; then it goes from sub-shard to sub-shard for what was noted.
// One Take comes to a sub-shard once at most, so that it tells of an id once.

#ifndef PERSIA_CC_STORE_TABLE_FEED_H_
#define PERSIA_CC_STORE_TABLE_FEED_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/store/sub_shard.h"
#include "cc/store/table.h"

namespace persia {

class TableFeed : public RowFeed {
 public:
  // `sub_shards` are the table's.
  TableFeed(std::shared_ptr<const Table> table, const SubShards* sub_shards,
            FeedStart start);
  ~TableFeed() override;
  TableFeed(const TableFeed&) = delete;
  TableFeed& operator=(const TableFeed&) = delete;

  // False if what changed was not known: it is of no use.
  bool begun() const { return touched_.size() == sub_shards_.size(); }

  bool Take(size_t count, RowDelta* delta) override;
  void Read(Span<const int64_t> ids, RowDelta* delta) override;
  bool lost() const override;

 private:
  // Follows nothing.
  TableFeed(std::shared_ptr<const Table> table, const SubShards* sub_shards,
            SaveScope scope, size_t walked);

  bool is_walking() const { return walked_ < sub_shards_.size(); }
  void Walk(size_t end, RowDelta* delta);
  bool AnyTouched() const;

  const std::shared_ptr<const Table> table_;
  const SubShards& sub_shards_;
  const SaveScope scope_;
  std::vector<TouchedRows*> touched_;  // The sub-shards'.
  size_t walked_;                      // Sub-shards.
  uint64_t next_hash_ = 0;             // In the one that is being walked.
  size_t next_ = 0;                    // Sub-shard to take from.
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_FEED_H_
