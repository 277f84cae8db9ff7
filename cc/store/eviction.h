// Eviction: which rows leave a table.
//
//   never
//   lru: beyond the capacity, the least recently looked up
//   lfu: beyond the capacity, the least often looked up; rows of the last
//     kRecent training lookups leave last, so that a new row may become
//     frequent and a gradient on its way still finds its row
//   ttl(steps=N), ttl(seconds=N): those that no training lookup asked for in
//     the last N training lookups of the table here, or N seconds; beyond the
//     capacity, if there is one, the least recently looked up
//
// A row whose time is over is gone at once for every lookup; its memory is
// taken back as later lookups sweep the table.

#ifndef PERSIA_CC_STORE_EVICTION_H_
#define PERSIA_CC_STORE_EVICTION_H_

#include <cstdint>
#include <limits>

#include "cc/base/spec.h"
#include "cc/base/status.h"

namespace persia {

// What a row of a table that evicts remembers of its training lookups.
struct RowUse {
  uint32_t last;   // Time of the last one: see Eviction::Unit.
  uint32_t count;  // How many; stays at its largest value.

  // Times wrap around. Of two requests at once the later one may come first.
  uint32_t Age(uint32_t now) const {
    return static_cast<int32_t>(now - last) > 0 ? now - last : 0;
  }

  void Note(uint32_t now) {
    last += Age(now);
    count += count != std::numeric_limits<uint32_t>::max();
  }
};

// What a table counts time by, in the uses that it notes of its rows.
enum class UseTime : uint32_t { kNone = 0, kSteps = 1, kSeconds = 2 };

class Eviction {
 public:
  static constexpr uint32_t kRecent = 16;

  // Of times: training lookups of the table, or seconds.
  enum class Unit { kSteps, kSeconds };

  // `spec` must pass CheckEviction.
  explicit Eviction(const Spec& spec);

  bool evicts() const { return kind_ != Kind::kNever; }
  bool expires() const { return kind_ == Kind::kTtl; }
  Unit unit() const { return unit_; }

  // kNone: it notes no uses.
  UseTime use_time() const {
    if (!evicts()) return UseTime::kNone;
    return unit_ == Unit::kSteps ? UseTime::kSteps : UseTime::kSeconds;
  }

  bool Expired(RowUse use, uint32_t now) const {
    return expires() && use.Age(now) > time_to_live_;
  }

  // Of two rows, the one of the lower rank leaves first.
  uint64_t Rank(RowUse use, uint32_t now) const;

 private:
  enum class Kind { kNever, kLru, kLfu, kTtl };

  Kind kind_ = Kind::kNever;
  Unit unit_ = Unit::kSteps;
  uint32_t time_to_live_ = std::numeric_limits<uint32_t>::max();
};

// InvalidArgument unless it is one of the policies above.
Status CheckEviction(const Spec& spec);

}  // namespace persia

#endif  // PERSIA_CC_STORE_EVICTION_H_
