#include "cc/store/eviction.h"

#include <algorithm>
#include <cmath>

#include "cc/base/param_check.h"

namespace persia {
namespace {

// The longest time to live. It is below half of 2^32, since times wrap around
// at 2^32.
constexpr double kMostTime = (1u << 31) - 1;

}  // namespace

Eviction::Eviction(const Spec& spec) {
  if (spec.name == "lru") kind_ = Kind::kLru;
  if (spec.name == "lfu") kind_ = Kind::kLfu;
  if (spec.name != "ttl") return;
  kind_ = Kind::kTtl;
  const bool seconds = spec.params.count("seconds") != 0;
  unit_ = seconds ? Unit::kSeconds : Unit::kSteps;
  time_to_live_ =
      static_cast<uint32_t>(spec.Get(seconds ? "seconds" : "steps", 1));
}

uint64_t Eviction::Rank(RowUse use, uint32_t now) const {
  const uint32_t age = use.Age(now);
  const uint64_t youth = std::numeric_limits<uint32_t>::max() - age;
  if (kind_ != Kind::kLfu) return youth;
  const uint64_t recent = age < kRecent ? 1 : 0;
  const uint64_t count = std::min(use.count, (1u << 31) - 1);
  return recent << 63 | count << 32 | youth;
}

Status CheckEviction(const Spec& spec) {
  if (spec.name == "never" || spec.name == "lru" || spec.name == "lfu") {
    return spec.CheckParams("eviction", {});
  }
  if (spec.name != "ttl") {
    return InvalidArgument(
        "eviction must be never, lru, lfu or ttl, received \"", spec.name,
        "\"");
  }
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("eviction", {"steps", "seconds"}));
  if (spec.params.size() != 1) {
    return InvalidArgument(
        "eviction ttl: either steps or seconds must be given, received ",
        spec.ToString());
  }
  const auto& [param, value] = *spec.params.begin();
  return CheckParam(
      value >= 1 && value <= kMostTime && value == std::floor(value),
      "eviction", spec, param, value,
      Concat("a whole number from 1 to ", NumberText(kMostTime)));
}

}  // namespace persia
