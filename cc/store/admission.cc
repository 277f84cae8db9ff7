#include "cc/store/admission.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/param_check.h"

namespace persia {
namespace {

constexpr double kMostCount = 255;  // A counter of the filter is a byte.
constexpr double kMostExpectedIds = 1e10;

class Always : public Admission {
 public:
  bool Admit(int64_t) override { return true; }
  size_t bytes() const override { return 0; }
};

class MinCount : public Admission {
 public:
  explicit MinCount(uint32_t count) : count_(count) {}

  bool Admit(int64_t id) override {
    if (count_ == 1) return true;
    uint32_t& seen = waiting_[id];
    if (++seen < count_) return false;
    waiting_.erase(id);
    return true;
  }

  size_t bytes() const override {
    constexpr size_t kMetadataBytes = 1;  // Of boost's map, a slot.
    using Slot = decltype(waiting_)::value_type;
    return waiting_.bucket_count() * (sizeof(Slot) + kMetadataBytes);
  }

 private:
  struct IdHash {
    using is_avalanching = void;  // Boost need not mix again.
    size_t operator()(int64_t id) const { return HashId(id); }
  };

  const uint32_t count_;
  boost::unordered_flat_map<int64_t, uint32_t, IdHash> waiting_;
};

class BloomMinCount : public Admission {
 public:
  BloomMinCount(uint8_t count, double expected_ids, double false_positive_rate)
      : count_(count) {
    const double ln2 = std::log(2.0);
    const double counters =
        -expected_ids * std::log(false_positive_rate) / (ln2 * ln2);
    counters_.resize(static_cast<size_t>(std::max(64.0, std::ceil(counters))));
    hashes_ = std::max(
        1, static_cast<int>(std::lround(-std::log2(false_positive_rate))));
  }

  bool Admit(int64_t id) override {
    // Double hashing (Kirsch and Mitzenmacher, 2006) gives the k places.
    const uint64_t first = HashId(id);
    const uint64_t step = Mix64(first) | 1;
    uint8_t least = std::numeric_limits<uint8_t>::max();
    for (int k = 0; k < hashes_; ++k) {
      least = std::min(least, Counter(first + k * step));
    }
    if (least >= count_) return true;
    const auto seen = static_cast<uint8_t>(least + 1);
    for (int k = 0; k < hashes_; ++k) {
      uint8_t& counter = Counter(first + k * step);
      counter = std::max(counter, seen);
    }
    return seen >= count_;
  }

  size_t bytes() const override { return counters_.size(); }

 private:
  uint8_t& Counter(uint64_t hash) {
    using Wide = unsigned __int128;
    return counters_[static_cast<size_t>(Wide{hash} * counters_.size() >> 64)];
  }

  const uint8_t count_;
  int hashes_;
  std::vector<uint8_t> counters_;
};

class Probability : public Admission {
 public:
  Probability(uint64_t table_seed, double p)
      : seed_(Mix64(table_seed ^ 0xad317ull)), p_(p) {}

  bool Admit(int64_t id) override {
    const uint64_t bits = Mix64(seed_ ^ HashId(id));
    return static_cast<double>(bits >> 11) * 0x1p-53 < p_;
  }

  size_t bytes() const override { return 0; }

 private:
  const uint64_t seed_;
  const double p_;
};

Status CheckCount(const Spec& spec, const char* param, double most) {
  const double value = spec.Get(param, 0);
  return CheckParam(value >= 1 && value <= most && value == std::floor(value),
                    "admission", spec, param, value,
                    Concat("a whole number from 1 to ", NumberText(most)));
}

// Above 0, and below 1 or also 1.
Status CheckChance(const Spec& spec, const char* param, bool one) {
  const double value = spec.Get(param, 0);
  return CheckParam(value > 0 && (one ? value <= 1 : value < 1), "admission",
                    spec, param, value,
                    one ? "above 0 and at most 1" : "above 0 and below 1");
}

}  // namespace

Status CheckAdmission(const Spec& spec) {
  if (spec.name == "always") return spec.CheckParams("admission", {});
  if (spec.name == "min_count") {
    PERSIA_RETURN_IF_ERROR(spec.CheckParams("admission", {"count"}));
    return CheckCount(spec, "count", std::numeric_limits<uint32_t>::max());
  }
  if (spec.name == "bloom_min_count") {
    PERSIA_RETURN_IF_ERROR(spec.CheckParams(
        "admission", {"count", "expected_ids", "false_positive_rate"}));
    PERSIA_RETURN_IF_ERROR(CheckCount(spec, "count", kMostCount));
    PERSIA_RETURN_IF_ERROR(CheckCount(spec, "expected_ids", kMostExpectedIds));
    return CheckChance(spec, "false_positive_rate", false);
  }
  if (spec.name == "probability") {
    PERSIA_RETURN_IF_ERROR(spec.CheckParams("admission", {"p"}));
    return CheckChance(spec, "p", true);
  }
  return InvalidArgument(
      "admission must be always, min_count, bloom_min_count or probability, "
      "received \"",
      spec.name, "\"");
}

std::unique_ptr<Admission> MakeAdmission(const Spec& spec, uint64_t table_seed,
                                         double share) {
  if (spec.name == "min_count") {
    return std::make_unique<MinCount>(
        static_cast<uint32_t>(spec.Get("count", 1)));
  }
  if (spec.name == "bloom_min_count") {
    return std::make_unique<BloomMinCount>(
        static_cast<uint8_t>(spec.Get("count", 1)),
        spec.Get("expected_ids", 1) * share,
        spec.Get("false_positive_rate", 0.01));
  }
  if (spec.name == "probability") {
    return std::make_unique<Probability>(table_seed, spec.Get("p", 1));
  }
  return std::make_unique<Always>();
}

}  // namespace persia
