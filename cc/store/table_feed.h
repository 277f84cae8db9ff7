// TableFeed: the RowFeed of a table, which reports changed rows to a follower.
//
// Unless the feed starts with kNow, it first walks over all rows, while changes
// are recorded concurrently. After that, it visits the sub-shards in turn and
// reports the recorded changes. A Take visits each sub-shard at most once, so
// that it reports no id twice. When the feed gains slots, it walks once more,
// to report their rows.

#ifndef PERSIA_CC_STORE_TABLE_FEED_H_
#define PERSIA_CC_STORE_TABLE_FEED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/store/sub_shard.h"
#include "cc/store/table.h"

namespace persia {

class TableFeed : public RowFeed {
 public:
  // `sub_shards` are the sub-shards of `table`.
  TableFeed(std::shared_ptr<const Table> table, const SubShards* sub_shards,
            FeedStart start, const FeedForm& form);
  ~TableFeed() override;
  TableFeed(const TableFeed&) = delete;
  TableFeed& operator=(const TableFeed&) = delete;

  // Returns false if the changes since the last save are not known: the feed is
  // then unusable.
  bool begun() const { return touched_.size() == sub_shards_.size(); }

  bool Take(size_t count, RowDelta* delta) override;
  void UseSlots(std::shared_ptr<const SlotSet> slots,
                const SlotSet& gained) override;
  void Read(Span<const int64_t> ids, RowDelta* delta) override;
  bool only_changes() const override { return !is_walking() && gained_.none(); }
  bool lost() const override;

 private:
  // Initialises the fields without following any sub-shard.
  TableFeed(std::shared_ptr<const Table> table, const SubShards* sub_shards,
            SaveScope scope, size_t walked, const FeedForm& form);

  bool is_walking() const { return walked_ < sub_shards_.size(); }
  void BeginWalkOverGained();
  void Walk(size_t end, RowDelta* delta);
  bool AnyTouched() const;

  const std::shared_ptr<const Table> table_;
  const SubShards& sub_shards_;
  SaveScope scope_;  // Of the walk.
  FeedForm form_;
  // The slots to whose rows the walk is limited; null for those of form_.
  std::unique_ptr<const SlotSet> only_;
  SlotSet gained_;                     // The slots of the next walk.
  std::vector<TouchedRows*> touched_;  // One per sub-shard.
  size_t walked_;                      // The number of sub-shards walked.
  // The hash at which the walk of the next sub-shard continues.
  uint64_t next_hash_ = 0;
  // The sub-shard whose recorded changes are reported next.
  size_t next_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_TABLE_FEED_H_
