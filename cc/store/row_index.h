// RowIndex: finds the row of each id within a sub-shard.
//
// Extendible hashing (Fagin et al., 1979): the upper bits of an id's hash
// select a segment through a directory, and the rest of the hash selects a home
// bucket in the segment. If a bucket is full, the id goes to the next one. A
// segment that becomes too full grows by a fifth to a third; at 64 KiB it
// splits in two instead. So an insertion moves at most one segment, however
// many rows there are, and about three quarters of all slots are in use.
//
// The hash has a random key of the index's own, so that a client cannot choose
// ids with a common home bucket. Whatever the ids, a search examines at most
// kMostBuckets buckets: an id that finds all of these full goes to a tree (see
// SpilledIds).
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_ROW_INDEX_H_
#define PERSIA_CC_STORE_ROW_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/keyed_hash.h"
#include "cc/base/memory_meter.h"
#include "cc/base/prefetch.h"
#include "cc/base/span.h"
#include "cc/store/bucket.h"
#include "cc/store/spilled_ids.h"

namespace persia {

class RowIndex {
 public:
  using Row = uint32_t;
  static constexpr Row kAbsent = ~Row{0};

  using AtLimit = MeteredBytes::AtLimit;

  // The number of buckets, from an id's home bucket on, in which the id may be.
  // By chance, fewer than one id in 10^11 finds all of them full.
  static constexpr uint32_t kMostBuckets = 128;

  // So that the upper 42 bits of a hash tell where a walk continues.
  static constexpr uint64_t kWalkStep = uint64_t{1} << 22;

  // Counts the index's memory at `meter`, unless `meter` is null. The growth of
  // the directory and of the list of segments is not counted, since it is
  // small.
  explicit RowIndex(MemoryMeter* meter = nullptr,
                    AtLimit at_limit = AtLimit::kThrow,
                    const KeyedHash& hash = KeyedHash());
  ~RowIndex();
  RowIndex(const RowIndex&) = delete;
  RowIndex& operator=(const RowIndex&) = delete;

  // Returns the hash of `id`. Walk visits ids in the order of their hashes.
  uint64_t HashOf(int64_t id) const { return hash_(static_cast<uint64_t>(id)); }

  // Prefetch what Find will read. Call PrefetchSegments first: it prefetches
  // the directory and the list of segments. PrefetchBuckets prefetches the home
  // buckets of the first `ids`.
  void PrefetchSegments() const;
  void PrefetchBuckets(Span<const int64_t> ids) const;

  // Sets rows[i] to the row of ids[i], or to kAbsent. Overlaps the cache misses
  // of many ids. Precondition: `rows` has room for ids.size().
  void Find(Span<const int64_t> ids, Row* rows) const;
  Row Find(int64_t id) const;

  // Returns a pointer to the row number of `id`, or null if `id` is absent. The
  // caller may change the number through the pointer until the index changes.
  Row* FindMutable(int64_t id);

  // Adds `id`, which must be absent. Throws std::bad_alloc if there is no
  // memory; the index is then unchanged.
  void Insert(int64_t id, Row row);

  // Removes `id`. Returns the row that it had, or kAbsent.
  Row Erase(int64_t id);

  // Visits ids in the order of their hashes, one home bucket after another,
  // until at least `least` ids were visited. A walk starts with `from` = 0.
  // Each call returns the hash from which the next call continues, a multiple
  // of kWalkStep, or 0 at the end of the walk.
  //
  // An id that stays in the index during a walk is visited exactly once, even
  // if other ids are inserted or erased between the calls. A walk may also
  // start at any other hash: it then visits the ids from that hash to the end.
  //
  // `visit` has the signature void(int64_t id, Row row), and must not change
  // the index.
  template <typename Visit>
  uint64_t Walk(uint64_t from, size_t least, const Visit& visit) const;

  size_t size() const { return size_; }
  size_t slots() const { return slots_; }
  size_t bytes() const;

  // Returns how many buckets Find examines for `id`.
  uint32_t BucketsToFind(int64_t id) const;
  // The number of ids in the tree: see SpilledIds.
  size_t spilled() const { return spilled_.size(); }

 private:
  // How many ids ahead Find prefetches: about as many cache lines as a core can
  // have in flight, and some more for the second-level cache.
  static constexpr size_t kAhead = 32;
  // How many ids Find searches together in the buckets after their home
  // buckets: as many as a core can have cache lines in flight.
  static constexpr size_t kMostPassedOn = 24;

  // The buckets of all ids whose hashes share their upper `depth` bits.
  struct Segment {
    Bucket* buckets;
    uint32_t size;   // Number of buckets.
    uint32_t count;  // Number of ids.
    uint32_t depth;

    // Number of buckets that an id may be in.
    uint32_t reach() const { return std::min(size, kMostBuckets); }
    // Each home bucket has an equal part of the segment's hashes, in their
    // order.
    uint32_t HomeOf(uint64_t hash) const {
      using Wide = unsigned __int128;
      return static_cast<uint32_t>(Wide{hash << depth} * size >> 64);
    }
    uint32_t Next(uint32_t bucket) const {
      return bucket + 1 == size ? 0 : bucket + 1;
    }
  };

  // Where a search of a segment ended.
  struct Place {
    uint32_t home;
    uint32_t bucket;
    uint32_t looked_at;  // Number of buckets examined.
    uint32_t match;      // From Bucket::Match; 0 if no bucket has the id.
    bool may_be_spilled;
  };

  // All hashes from `first` to `last`, which share their upper bits.
  struct HashRange {
    uint64_t first;
    uint64_t last;
  };
  // Returns all hashes of the segment that `hash` belongs to.
  static HashRange RangeOf(uint64_t hash, uint32_t depth);
  static uint64_t LastOfStep(uint64_t hash) { return hash | (kWalkStep - 1); }
  // Returns the last hash that has the same home bucket as `hash`.
  static uint64_t LastOfHome(const Segment& segment, uint64_t hash);

  uint32_t SegmentOf(uint64_t hash) const {
    return directory_[hash >> 1 >> (63 - depth_)];
  }
  const Bucket* HomeBucket(int64_t id) const {
    const uint64_t hash = HashOf(id);
    const Segment& segment = segments_[SegmentOf(hash)];
    return segment.buckets + segment.HomeOf(hash);
  }
  // Returns the bucket after the home bucket.
  const Bucket* SecondBucket(int64_t id) const {
    const uint64_t hash = HashOf(id);
    const Segment& segment = segments_[SegmentOf(hash)];
    return segment.buckets + segment.Next(segment.HomeOf(hash));
  }
  Bucket* TakeBuckets(uint32_t count);
  void GiveBuckets(Bucket* buckets, uint32_t count);
  void FindPassedOn(Span<const int64_t> ids, Span<const uint32_t> passed_on,
                    Row* rows) const;
  static Place Search(const Segment& segment, uint64_t hash, int64_t id);
  static bool Add(const Segment& segment, uint64_t hash, int64_t id, Row row);
  static void AddOrSpill(const Segment& segment, uint64_t hash, int64_t id,
                         Row row, SpilledIds* spilled);

  // Visits the ids whose hashes are in `range`, all of which have one home
  // bucket.
  template <typename Visit>
  size_t WalkHome(const Segment& segment, HashRange range,
                  const Visit& visit) const;

  // MakeRoom, Grow and Split change the segment that contains `hash`.
  void MakeRoom(uint64_t hash);
  void Grow(uint64_t hash);
  void Split(uint64_t hash);
  void DoubleDirectory();
  // Moves the ids of segment `from`, whose hashes are in `range`, to one or two
  // new segments. `to` returns the new segment for a hash.
  template <typename To>
  void Move(const Segment& from, HashRange range, const To& to);

  const KeyedHash hash_;
  std::vector<uint32_t> directory_;  // 2^depth_ indexes into segments_.
  std::vector<Segment> segments_;
  uint32_t depth_ = 0;
  size_t size_ = 0;
  size_t slots_ = 0;
  MeteredBytes metered_;
  SpilledIds spilled_;
};

inline RowIndex::HashRange RowIndex::RangeOf(uint64_t hash, uint32_t depth) {
  const uint64_t lower_bits = ~uint64_t{0} >> depth;
  return {hash & ~lower_bits, hash | lower_bits};
}

template <typename Visit>
uint64_t RowIndex::Walk(uint64_t from, size_t least, const Visit& visit) const {
  size_t visited = 0;
  uint64_t hash = from;
  do {
    const Segment& segment = segments_[SegmentOf(hash)];
    // Earlier hashes of the same home bucket have been visited.
    HashRange range{hash, LastOfHome(segment, hash)};
    if (visited >= least) range.last = std::min(range.last, LastOfStep(hash));
    visited += WalkHome(segment, range, visit);
    hash = range.last + 1;
  } while (visited < least ? hash != 0 : hash % kWalkStep != 0);
  return hash;
}

template <typename Visit>
size_t RowIndex::WalkHome(const Segment& segment, HashRange range,
                          const Visit& visit) const {
  size_t visited = 0;
  uint32_t at = segment.HomeOf(range.first);
  for (uint32_t left = segment.reach();; --left, at = segment.Next(at)) {
    const Bucket& bucket = segment.buckets[at];
    for (uint32_t used = bucket.used; used != 0; used &= used - 1) {
      const int slot = __builtin_ctz(used);
      const int64_t id = bucket.ids[slot];
      const uint64_t hash = HashOf(id);
      if (hash < range.first || hash > range.last) continue;
      visit(id, bucket.rows[slot]);
      ++visited;
    }
    if (bucket.passed == 0) return visited;
    if (left == 1) break;
  }
  spilled_.ForEach(range.first, range.last,
                   [&](uint64_t /*hash*/, int64_t id, Row row) {
                     visit(id, row);
                     ++visited;
                   });
  return visited;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_INDEX_H_
