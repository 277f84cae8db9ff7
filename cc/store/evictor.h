// Evictor: keeps a table within its capacity, and sweeps expired rows.
//
// It scans rows in the order of their keyed hashes, which makes them a random
// sample (a different one in each process: see KeyedHash::Numbered), and
// continues where the last scan stopped. To evict n rows it scans 8 n or 1024,
// whichever is more, and evicts the n of the lowest rank. So a table of up to
// 1024 rows follows its policy exactly, and a larger one nearly so.
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
  // The objects that the arguments point to must outlive the evictor. `rows` is
  // the number of rows in all sub-shards.
  Evictor(const Eviction* eviction, uint64_t capacity_rows,
          const SubShards* sub_shards, std::atomic<int64_t>* rows)
      : eviction_(*eviction),
        capacity_rows_(capacity_rows),
        sub_shards_(*sub_shards),
        rows_(*rows) {}

  // Changes the capacity. Rows beyond it go in later calls of Run.
  void set_capacity(uint64_t rows) {
    capacity_rows_.store(rows, std::memory_order_relaxed);
  }

  // Removes expired rows and rows beyond the capacity. Call it after a request
  // for `ids` ids that created `created` rows, without holding the lock of a
  // sub-shard. Returns the number of rows removed, and appends these rows to
  // `changes`, unless that is null.
  uint64_t Run(size_t ids, uint64_t created, uint32_t now, RowChanges* changes);

 private:
  // The caller of each function below, except excess(), must hold mutex_.
  uint64_t EvictExcess(uint32_t now, RowChanges* changes);
  uint64_t Sweep(size_t least, uint32_t now, RowChanges* changes);
  void FindCandidates(size_t wanted, uint32_t now);
  uint64_t EvictLowest(size_t count, uint32_t now, RowChanges* changes);
  // Calls look(sub-shard) repeatedly, with the scan's position in hash_. `look`
  // must advance hash_, or set it to 0 at the sub-shard's end. Stops when
  // `look` returns false, or when the ends of all sub-shards were reached once.
  template <typename Look>
  void WalkAll(const Look& look);
  uint64_t excess() const;

  const Eviction& eviction_;
  std::atomic<uint64_t> capacity_rows_;
  const SubShards& sub_shards_;
  std::atomic<int64_t>& rows_;

  std::mutex mutex_;
  // Everything below is guarded by mutex_.
  size_t sub_shard_ = 0;  // Where the next scan begins.
  uint64_t hash_ = 0;
  std::vector<EvictionCandidate> candidates_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_EVICTOR_H_
