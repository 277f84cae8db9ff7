#include "cc/store/row_index.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "cc/base/prefetch.h"
#include "cc/store/block_pool.h"

namespace persia {
namespace {

// The number of buckets of a segment that splits when it becomes too full, and
// of each half.
constexpr uint32_t kFullSize = BlockPool::kBlockBytes / sizeof(Bucket);
constexpr uint32_t kHalfSize = kFullSize / 8 * 5;

// A higher load saves memory but displaces more ids from their home buckets. At
// this load, 1 in 6 of a segment's ids is displaced; averaged over all loads, 1
// in 9.
constexpr uint32_t kMostLoadPercent = 85;

constexpr std::align_val_t kBucketAlignment{alignof(Bucket)};

// Approximate memory of a small index: the directory, the list of segments and
// a single bucket, with heap overhead.
constexpr size_t kLeastBytes = 128;

size_t MostIds(uint32_t buckets) {
  return size_t{Bucket::kSlots} * buckets * kMostLoadPercent / 100;
}

// Returns the size to which a segment grows: the sizes are 1, 2, 3, and 4, 5
// and 6 times each power of two. If there were fewer sizes, more slots would be
// unused; with more sizes, ids would move more often (with these, five times
// while the index doubles).
uint32_t NextSize(uint32_t buckets) {
  if (buckets < 4) return buckets + 1;
  uint32_t unit = 1;
  while (8 * unit <= buckets) unit *= 2;
  return buckets + (buckets == 6 * unit ? 2 * unit : unit);
}

Bucket* NewBuckets(uint32_t count) {
  const size_t bytes = sizeof(Bucket) * count;
  void* memory = BlockPool::HasSize(bytes)
                     ? BlockPool::Global().Allocate(bytes)
                     : ::operator new(bytes, kBucketAlignment);
  return static_cast<Bucket*>(std::memset(memory, 0, bytes));
}

void DeleteBuckets(Bucket* buckets, uint32_t count) {
  if (BlockPool::HasSize(sizeof(Bucket) * count)) {
    BlockPool::Global().Free(buckets);
  } else {
    ::operator delete(buckets, kBucketAlignment);
  }
}

template <typename Visit>
void ForEach(const Bucket* buckets, uint32_t count, const Visit& visit) {
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t used = buckets[b].used; used != 0; used &= used - 1) {
      const int slot = __builtin_ctz(used);
      visit(buckets[b].ids[slot], buckets[b].rows[slot]);
    }
  }
}

}  // namespace

RowIndex::RowIndex(MemoryMeter* meter, AtLimit at_limit, const KeyedHash& hash)
    : hash_(hash),
      directory_(1, 0),
      metered_(meter, at_limit),
      spilled_(meter) {
  metered_.Grow(kLeastBytes, [] {});
  segments_.reserve(1);
  segments_.push_back({TakeBuckets(1), 1, 0, 0});
  slots_ = Bucket::kSlots;
}

RowIndex::~RowIndex() {
  for (const Segment& segment : segments_) {
    DeleteBuckets(segment.buckets, segment.size);
  }
}

RowIndex::Place RowIndex::Search(const Segment& segment, uint64_t hash,
                                 int64_t id) {
  Place place{};
  place.home = segment.HomeOf(hash);
  place.bucket = place.home;
  place.looked_at = 1;
  while ((place.match = segment.buckets[place.bucket].Match(id)) == 0) {
    if (segment.buckets[place.bucket].passed == 0) break;
    if (place.looked_at == segment.reach()) {
      place.may_be_spilled = true;
      break;
    }
    place.bucket = segment.Next(place.bucket);
    ++place.looked_at;
  }
  return place;
}

RowIndex::Row RowIndex::Find(int64_t id) const {
  const uint64_t hash = HashOf(id);
  const Segment& segment = segments_[SegmentOf(hash)];
  const Place place = Search(segment, hash, id);
  if (place.match != 0) {
    return segment.buckets[place.bucket].rows[__builtin_ctz(place.match)];
  }
  if (!place.may_be_spilled) return kAbsent;
  const Row* const row = spilled_.Find(hash, id);
  return row == nullptr ? kAbsent : *row;
}

void RowIndex::Find(Span<const int64_t> ids, Row* rows) const {
  const size_t count = ids.size();
  const Bucket* homes[kAhead];
  // The indexes of the ids that may be in a bucket after their home bucket.
  uint32_t passed_on[kMostPassedOn];
  size_t passed = 0;
  const auto prefetch = [&](size_t i) {
    homes[i % kAhead] = HomeBucket(ids[i]);
    Prefetch(homes[i % kAhead]);
  };
  for (size_t i = 0; i < std::min(kAhead, count); ++i) prefetch(i);
  for (size_t i = 0; i < count; ++i) {
    const Bucket* home = homes[i % kAhead];
    if (i + kAhead < count) prefetch(i + kAhead);
    // There is no branch on whether the id is here, which a CPU could not
    // predict.
    const uint32_t match = home->Match(ids[i]);
    rows[i] = home->RowOf(match, kAbsent);
    passed_on[passed] = static_cast<uint32_t>(i);
    passed += static_cast<size_t>(match == 0) & (home->passed != 0);
    if (passed == kMostPassedOn) {
      FindPassedOn(ids, {passed_on, passed}, rows);
      passed = 0;
    }
  }
  FindPassedOn(ids, {passed_on, passed}, rows);
}

// Finds the ids whose indexes are in `passed_on`, and which are not in their
// home buckets.
void RowIndex::FindPassedOn(Span<const int64_t> ids,
                            Span<const uint32_t> passed_on, Row* rows) const {
  const Bucket* buckets[kMostPassedOn];
  for (size_t p = 0; p < passed_on.size(); ++p) {
    buckets[p] = SecondBucket(ids[passed_on[p]]);
    Prefetch(buckets[p]);
  }
  for (size_t p = 0; p < passed_on.size(); ++p) {
    const uint32_t i = passed_on[p];
    const uint32_t match = buckets[p]->Match(ids[i]);
    if (match != 0) {
      rows[i] = buckets[p]->RowOf(match, kAbsent);
    } else if (buckets[p]->passed != 0) {
      rows[i] = Find(ids[i]);
    }
  }
}

RowIndex::Row* RowIndex::FindMutable(int64_t id) {
  const uint64_t hash = HashOf(id);
  const Segment& segment = segments_[SegmentOf(hash)];
  const Place place = Search(segment, hash, id);
  if (place.match != 0) {
    return &segment.buckets[place.bucket].rows[__builtin_ctz(place.match)];
  }
  return place.may_be_spilled ? spilled_.Find(hash, id) : nullptr;
}

uint32_t RowIndex::BucketsToFind(int64_t id) const {
  const uint64_t hash = HashOf(id);
  return Search(segments_[SegmentOf(hash)], hash, id).looked_at;
}

void RowIndex::PrefetchSegments() const {
  Prefetch(directory_.data());
  Prefetch(segments_.data());
}

void RowIndex::PrefetchBuckets(Span<const int64_t> ids) const {
  for (const int64_t id : ids.first(std::min(kAhead, ids.size()))) {
    Prefetch(HomeBucket(id));
  }
}

void RowIndex::Insert(int64_t id, Row row) {
  const uint64_t hash = HashOf(id);
  while (true) {
    const Segment& segment = segments_[SegmentOf(hash)];
    if (segment.count < MostIds(segment.size)) break;
    MakeRoom(hash);
  }
  Segment& segment = segments_[SegmentOf(hash)];
  AddOrSpill(segment, hash, id, row, &spilled_);
  ++segment.count;
  ++size_;
}

RowIndex::Row RowIndex::Erase(int64_t id) {
  const uint64_t hash = HashOf(id);
  Segment& segment = segments_[SegmentOf(hash)];
  const Place place = Search(segment, hash, id);
  Row row = kAbsent;
  if (place.match != 0) {
    Bucket& bucket = segment.buckets[place.bucket];
    bucket.used &= static_cast<uint8_t>(~place.match);
    row = bucket.rows[__builtin_ctz(place.match)];
  } else {
    const Row* const spilled =
        place.may_be_spilled ? spilled_.Find(hash, id) : nullptr;
    if (spilled == nullptr) return kAbsent;
    row = *spilled;
    spilled_.Erase(hash, id);
    // The spilled id had passed this bucket too. The loop below handles the
    // buckets before this one.
    segment.buckets[place.bucket].RemovePassed();
  }
  for (uint32_t at = place.home; at != place.bucket; at = segment.Next(at)) {
    segment.buckets[at].RemovePassed();
  }
  --segment.count;
  --size_;
  return row;
}

size_t RowIndex::bytes() const {
  return kLeastBytes + slots_ / Bucket::kSlots * sizeof(Bucket) +
         (directory_.capacity() - 1) * sizeof(uint32_t) +
         (segments_.capacity() - 1) * sizeof(Segment) + spilled_.bytes();
}

// Adds `id` to its home bucket or to one of the next buckets. If these have no
// room, returns false and changes nothing.
bool RowIndex::Add(const Segment& segment, uint64_t hash, int64_t id, Row row) {
  const uint32_t home = segment.HomeOf(hash);
  uint32_t free = home;
  for (uint32_t left = segment.reach(); segment.buckets[free].full();) {
    if (--left == 0) return false;
    free = segment.Next(free);
  }
  for (uint32_t at = home; at != free; at = segment.Next(at)) {
    segment.buckets[at].AddPassed();
  }
  segment.buckets[free].Add(id, row);
  return true;
}

void RowIndex::AddOrSpill(const Segment& segment, uint64_t hash, int64_t id,
                          Row row, SpilledIds* spilled) {
  if (Add(segment, hash, id, row)) return;
  spilled->Add(hash, id, row);
  uint32_t at = segment.HomeOf(hash);
  for (uint32_t left = segment.reach(); left != 0; --left) {
    segment.buckets[at].AddPassed();
    at = segment.Next(at);
  }
}

void RowIndex::MakeRoom(uint64_t hash) {
  const Segment& segment = segments_[SegmentOf(hash)];
  // This limit stops ids whose hashes share many upper bits from doubling the
  // directory without end. Such ids do not occur by chance.
  const bool directory_may_double =
      segment.depth < depth_ || directory_.size() <= 64 * segments_.size();
  if (segment.size == kFullSize && directory_may_double) {
    Split(hash);
  } else {
    Grow(hash);
  }
}

// Also moves the segment's spilled ids, which may find room in a new segment.
template <typename To>
void RowIndex::Move(const Segment& from, HashRange range, const To& to) {
  SpilledIds spilled(nullptr);
  const auto move = [&](uint64_t hash, int64_t id, Row row) {
    Segment* const segment = to(hash);
    AddOrSpill(*segment, hash, id, row, &spilled);
    ++segment->count;
  };
  ForEach(from.buckets, from.size,
          [&](int64_t id, Row row) { move(HashOf(id), id, row); });
  if (!spilled_.empty()) spilled_.ForEach(range.first, range.last, move);
  // Nothing below throws, so that the move is complete or has no effect.
  spilled_.Replace(range.first, range.last, &spilled);
}

void RowIndex::Grow(uint64_t hash) {
  Segment& segment = segments_[SegmentOf(hash)];
  const uint32_t size = NextSize(segment.size);
  Segment grown = {TakeBuckets(size), size, 0, segment.depth};
  try {
    Move(segment, RangeOf(hash, segment.depth),
         [&](uint64_t /*hash*/) { return &grown; });
  } catch (...) {
    GiveBuckets(grown.buckets, size);
    throw;
  }
  GiveBuckets(segment.buckets, segment.size);
  slots_ += size_t{Bucket::kSlots} * (size - segment.size);
  segment = grown;
}

void RowIndex::Split(uint64_t hash) {
  const uint32_t number = SegmentOf(hash);
  if (segments_[number].depth == depth_) DoubleDirectory();
  if (segments_.size() == segments_.capacity()) {
    segments_.reserve(2 * segments_.size());
  }
  const Segment whole = segments_[number];
  const Segment empty = {nullptr, kHalfSize, 0, whole.depth + 1};
  Segment halves[2] = {empty, empty};
  try {
    for (Segment& half : halves) half.buckets = TakeBuckets(half.size);
    Move(whole, RangeOf(hash, whole.depth),
         [&](uint64_t of_id) { return &halves[of_id << whole.depth >> 63]; });
  } catch (...) {
    for (const Segment& half : halves) {
      if (half.buckets != nullptr) GiveBuckets(half.buckets, half.size);
    }
    throw;
  }
  GiveBuckets(whole.buckets, whole.size);
  slots_ += size_t{Bucket::kSlots} * (2 * kHalfSize - whole.size);

  const auto upper = static_cast<uint32_t>(segments_.size());
  segments_[number] = halves[0];
  segments_.push_back(halves[1]);
  // The directory's entries for the old segment are contiguous; the upper half
  // of them now points to the new segment.
  const uint32_t entries = uint32_t{1} << (depth_ - whole.depth);
  const uint64_t first = (hash >> 1 >> (63 - depth_)) / entries * entries;
  std::fill_n(directory_.begin() + static_cast<ptrdiff_t>(first + entries / 2),
              entries / 2, upper);
}

uint64_t RowIndex::LastOfHome(const Segment& segment, uint64_t hash) {
  using Wide = unsigned __int128;
  const HashRange all = RangeOf(hash, segment.depth);
  const uint32_t next = segment.HomeOf(hash) + 1;
  if (next == segment.size) return all.last;
  // The first hash of the next home bucket: the inverse of HomeOf, rounded up
  // twice.
  const Wide lower_bits =
      ((Wide{next} << 64) + segment.size - 1) / segment.size;
  const Wide unit = Wide{1} << segment.depth;
  return all.first + static_cast<uint64_t>((lower_bits + unit - 1) / unit) - 1;
}

Bucket* RowIndex::TakeBuckets(uint32_t count) {
  return metered_.Grow(sizeof(Bucket) * count,
                       [&] { return NewBuckets(count); });
}

void RowIndex::GiveBuckets(Bucket* buckets, uint32_t count) {
  DeleteBuckets(buckets, count);
  metered_.Shrink(sizeof(Bucket) * count);
}

void RowIndex::DoubleDirectory() {
  std::vector<uint32_t> doubled(2 * directory_.size());
  for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
  directory_ = std::move(doubled);
  ++depth_;
}

}  // namespace persia
