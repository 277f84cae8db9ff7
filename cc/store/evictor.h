// Evictor: keeps a table within its capacity, and sweeps what expired.
//
// It looks at rows in the order of their hashes, which is a random sample of
// them (another one in each process: see KeyedHash::Numbered), and goes on
// where it stopped. To evict n rows it looks at 8 n or 1024,
// whichever is more, and takes those that rank lowest; so a table of up to 1024
// rows evicts exactly by its policy, and a larger one nearly so.
//
// Thread-safe; one thread evicts at a time.

#ifndef PERSIA_CC_STORE_EVICTOR_H_
#define PERSIA_CC_STORE_EVICTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/store/eviction.h"
#include "cc/store/sub_shard.h"

namespace persia {

class Evictor {
 public:
  // All must outlive the evictor. `rows` counts the rows of all sub-shards.
  Evictor(const Eviction* eviction, uint64_t capacity_rows,
          const SubShards* sub_shards, std::atomic<int64_t>* rows)
      : eviction_(*eviction),
        capacity_rows_(capacity_rows),
        sub_shards_(*sub_shards),
        rows_(*rows) {}

  // To be called after a request for `ids` ids that created rows, with no
  // sub-shard locked. Returns the number of rows removed, and adds them to
  // `changes` if that is not null.
  uint64_t Run(size_t ids, uint64_t created, uint32_t now, RowChanges* changes);

 private:
  // These expect mutex_ to be held.
  uint64_t EvictExcess(uint32_t now, RowChanges* changes);
  uint64_t Sweep(size_t least, uint32_t now, RowChanges* changes);
  void FindCandidates(size_t wanted, uint32_t now);
  uint64_t EvictLowest(size_t count, uint32_t now, RowChanges* changes);
  // Calls look(sub-shard) with hash_ where to look on, which it moves on (to 0
  // at the sub-shard's end), until it returns false or all ended once.
  template <typename Look>
  void WalkAll(const Look& look);
  uint64_t excess() const;

  const Eviction& eviction_;
  const uint64_t capacity_rows_;
  const SubShards& sub_shards_;
  std::atomic<int64_t>& rows_;

  std::mutex mutex_;
  // All below are guarded by mutex_.
  size_t sub_shard_ = 0;  // Where the next look at rows begins.
  uint64_t hash_ = 0;
  std::vector<EvictionCandidate> candidates_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_EVICTOR_H_
