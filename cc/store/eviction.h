// Eviction: which rows a table removes.
//
//   never: none
//   lru: beyond the capacity, the rows that were looked up least recently
//   lfu: beyond the capacity, the rows that were looked up least often. Rows
//     that one of the last kRecent training lookups used are evicted last, so
//     that a new row has time to become frequent, and a gradient in flight
//     still finds its row
//   ttl(steps=N): rows that none of the table's last N training lookups on this
//     shard used
//   ttl(seconds=N): rows that no training lookup used in the last N seconds
//
// A table with a TTL and a capacity also removes, beyond the capacity, the rows
// that were looked up least recently.
//
// As soon as a row has expired, it is absent to every lookup; its memory is
// freed when a later lookup sweeps the table.

#ifndef PERSIA_CC_STORE_EVICTION_H_
#define PERSIA_CC_STORE_EVICTION_H_

#include <cstdint>
#include <limits>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// A row's record of its training lookups, in a table that evicts.
struct RowUse {
  // The time of the last training lookup, in Eviction::Unit.
  uint32_t last;
  // The number of training lookups; saturates.
  uint32_t count;

  // Returns the time from the last training lookup to `now`. Times wrap around.
  // If a concurrent request with a later time was noted first, `last` is after
  // `now`, and the age is 0.
  uint32_t Age(uint32_t now) const {
    return static_cast<int32_t>(now - last) > 0 ? now - last : 0;
  }

  void Note(uint32_t now) {
    last += Age(now);
    count += count != std::numeric_limits<uint32_t>::max();
  }
};

// The unit of the times in a table's RowUse.
enum class UseTime : uint32_t { kNone = 0, kSteps = 1, kSeconds = 2 };

class Eviction {
 public:
  static constexpr uint32_t kRecent = 16;

  // The unit of time: training lookups of the table, or seconds.
  enum class Unit { kSteps, kSeconds };

  // `spec` must pass CheckEviction.
  explicit Eviction(const Spec& spec);

  bool evicts() const { return kind_ != Kind::kNever; }
  bool expires() const { return kind_ == Kind::kTtl; }
  Unit unit() const { return unit_; }

  // Returns the unit of RowUse times, or kNone if rows have no RowUse.
  UseTime use_time() const {
    if (!evicts()) return UseTime::kNone;
    return unit_ == Unit::kSteps ? UseTime::kSteps : UseTime::kSeconds;
  }

  bool Expired(RowUse use, uint32_t now) const {
    return expires() && use.Age(now) > time_to_live_;
  }

  // The eviction order: rows of lower rank are evicted first.
  uint64_t Rank(RowUse use, uint32_t now) const;

 private:
  enum class Kind { kNever, kLru, kLfu, kTtl };

  Kind kind_ = Kind::kNever;
  Unit unit_ = Unit::kSteps;
  uint32_t time_to_live_ = std::numeric_limits<uint32_t>::max();
};

// Returns InvalidArgument unless `spec` is a valid eviction policy.
Status CheckEviction(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_EVICTION_H_
