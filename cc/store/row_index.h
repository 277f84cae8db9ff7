// RowIndex: where the row of each id is, within a sub-shard.
//
// Extendible hashing (Fagin et al., 1979): an id's hash chooses a segment by
// its upper bits, by way of a directory, and a home bucket there by the next
// ones; a full bucket passes the id on to the next bucket. A segment that gets
// too full doubles, and at 64 KiB splits in two instead. So an insertion moves
// one segment at most, however many rows there are.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_ROW_INDEX_H_
#define PERSIA_CC_STORE_ROW_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/store/bucket.h"

namespace persia {

class RowIndex {
 public:
  using Row = uint32_t;
  static constexpr Row kAbsent = ~Row{0};

  using AtLimit = MeteredBytes::AtLimit;

  // Counts its memory at `meter`, if there is one, but for what a directory and
  // its like take as it grows, which is little.
  explicit RowIndex(MemoryMeter* meter = nullptr,
                    AtLimit at_limit = AtLimit::kThrow);
  ~RowIndex();
  RowIndex(const RowIndex&) = delete;
  RowIndex& operator=(const RowIndex&) = delete;

  // Each asks for memory that the next call here needs: where the segments are,
  // then the first buckets of `ids`, for Find.
  void AskForSegments() const;
  void AskFor(Span<const int64_t> ids) const;

  // The row of each id, or kAbsent. Overlaps the memory accesses of many ids.
  // Precondition: rows has room for ids.size().
  void Find(Span<const int64_t> ids, Row* rows) const;
  Row Find(int64_t id) const;

  // The row of `id`, to be changed in place until the index next changes, or
  // null.
  Row* FindMutable(int64_t id);

  // Precondition: `id` is absent. Throws std::bad_alloc if there is no memory,
  // and changes nothing then.
  void Insert(int64_t id, Row row);

  // The row that `id` had, or kAbsent.
  Row Erase(int64_t id);

  // Visits ids in the order of their hashes, from hash `from` on (0 at first):
  // at least `least`, and those of the last one's home. Returns the hash to go
  // on from, or 0 at the end. An id that stays in the index is visited once in
  // such a walk, whatever comes, goes or grows between the calls. From any
  // other hash it visits what comes after it, and ends too. visit: void(int64_t
  // id, Row row), which must not change the index.
  template <typename Visit>
  uint64_t Walk(uint64_t from, size_t least, const Visit& visit) const;

  size_t size() const { return size_; }
  size_t slots() const { return slots_; }
  size_t bytes() const;

 private:
  // 2^bits buckets of all ids whose hashes share their upper `depth` bits.
  struct Segment {
    Bucket* buckets;
    uint32_t count;  // Ids.
    uint8_t depth;
    uint8_t bits;

    uint32_t size() const { return uint32_t{1} << bits; }
    uint32_t HomeOf(uint64_t hash) const {
      return static_cast<uint32_t>(hash << depth >> 1 >> (63 - bits));
    }
    uint32_t Next(uint32_t bucket) const { return (bucket + 1) & (size() - 1); }
  };

  // An id's place in a segment: home, and the bucket that holds it.
  struct Place {
    uint32_t home;
    uint32_t bucket;
    uint32_t match;  // Of Bucket::Match; 0 if the id is absent.
  };

  uint32_t SegmentOf(uint64_t hash) const {
    return directory_[hash >> 1 >> (63 - depth_)];
  }
  const Bucket* HomeBucket(int64_t id) const {
    const uint64_t hash = HashId(id);
    const Segment& segment = segments_[SegmentOf(hash)];
    return segment.buckets + segment.HomeOf(hash);
  }
  Bucket* TakeBuckets(uint32_t bits);
  void GiveBuckets(Bucket* buckets, uint32_t bits);
  static Place Search(const Segment& segment, int64_t id);
  static void Add(const Segment& segment, int64_t id, Row row);

  template <typename Visit>
  static size_t WalkHome(const Segment& segment, uint32_t home,
                         const Visit& visit);

  void MakeRoom(uint32_t segment);
  void Double(uint32_t segment);
  void Split(uint32_t segment);
  void DoubleDirectory();

  std::vector<uint32_t> directory_;  // Numbers of segments, 2^depth_ of them.
  std::vector<Segment> segments_;
  uint32_t depth_ = 0;
  size_t size_ = 0;
  size_t slots_ = 0;
  MeteredBytes metered_;
};

template <typename Visit>
uint64_t RowIndex::Walk(uint64_t from, size_t least, const Visit& visit) const {
  size_t visited = 0;
  uint64_t hash = from;
  do {
    const Segment& segment = segments_[SegmentOf(hash)];
    visited += WalkHome(segment, segment.HomeOf(hash), visit);
    // Homes halve as the index grows, so where one begins, one always will.
    const int home_bits = segment.depth + segment.bits;
    constexpr uint64_t kAll = ~uint64_t{0};
    const uint64_t lower_bits = home_bits == 0 ? kAll : kAll >> home_bits;
    hash = (hash | lower_bits) + 1;
  } while (hash != 0 && visited < least);
  return hash;
}

template <typename Visit>
size_t RowIndex::WalkHome(const Segment& segment, uint32_t home,
                          const Visit& visit) {
  size_t visited = 0;
  uint32_t at = home;
  do {
    const Bucket& bucket = segment.buckets[at];
    for (uint32_t used = bucket.used; used != 0; used &= used - 1) {
      const int slot = __builtin_ctz(used);
      const int64_t id = bucket.ids[slot];
      if (segment.HomeOf(HashId(id)) != home) continue;
      visit(id, bucket.rows[slot]);
      ++visited;
    }
    if (bucket.passed == 0) break;
    at = segment.Next(at);
  } while (at != home);
  return visited;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_INDEX_H_
