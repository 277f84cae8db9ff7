#include "cc/store/admission.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "cc/base/hash.h"
#include "cc/base/param_check.h"
#include "cc/store/row_index.h"

namespace persia {
namespace {

constexpr double kMostCount = 255;  // A counter of the filter is a byte.
constexpr double kMostExpectedIds = 1e10;
constexpr double kLeastFalsePositiveRate = 1e-9;
constexpr double kMostFilterGiB = 64;

class Always : public Admission {
 public:
  bool Admit(int64_t) override { return true; }
  size_t bytes() const override { return 0; }
};

class MinCount : public Admission {
 public:
  MinCount(uint32_t count, MemoryMeter* meter)
      : count_(count), waiting_(meter) {}

  bool Admit(int64_t id) override {
    if (count_ == 1) return true;
    RowIndex::Row* seen = waiting_.FindMutable(id);
    if (seen == nullptr) {
      StartCounting(id);
    } else if (++*seen == count_) {
      waiting_.Erase(id);
      return true;
    }
    return false;
  }

  size_t bytes() const override { return waiting_.bytes(); }

 private:
  // At the memory limit the id is not counted, and so not admitted; lookups of
  // ids that have rows still succeed.
  void StartCounting(int64_t id) {
    try {
      waiting_.Insert(id, 1);
    } catch (const MemoryLimitReached&) {
    }
  }

  const uint32_t count_;
  RowIndex waiting_;  // Each id's number of lookups, stored as its row number.
};

double FilterCounters(double expected_ids, double false_positive_rate) {
  const double ln2 = std::log(2.0);
  return -expected_ids * std::log(false_positive_rate) / (ln2 * ln2);
}

class BloomMinCount : public Admission {
 public:
  BloomMinCount(uint8_t count, double expected_ids, double false_positive_rate,
                MemoryMeter* meter)
      : count_(count),
        hashes_(std::max(
            1, static_cast<int>(std::lround(-std::log2(false_positive_rate))))),
        size_(static_cast<size_t>(std::max(
            64.0,
            std::ceil(FilterCounters(expected_ids, false_positive_rate))))),
        metered_(meter),
        counters_(metered_.Grow(size_, [&] { return NewCounters(size_); })) {}

  bool Admit(int64_t id) override {
    // Double hashing (Kirsch and Mitzenmacher, 2006) gives the k counters of an
    // id. HashId has no secret key on purpose: in every run the same ids are
    // admitted too early, that is, before their N-th lookup. A client can
    // therefore choose ids that share counters. The filter admits those ids too
    // early, but they cost no more time than others.
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

  size_t bytes() const override { return size_; }

 private:
  uint8_t& Counter(uint64_t hash) {
    using Wide = unsigned __int128;
    return counters_[static_cast<size_t>(Wide{hash} * size_ >> 64)];
  }

  static uint8_t* NewCounters(size_t size) {
    auto* counters = static_cast<uint8_t*>(std::calloc(size, 1));
    if (counters == nullptr) throw std::bad_alloc();
    return counters;
  }

  struct Free {
    void operator()(uint8_t* counters) const { std::free(counters); }
  };

  const uint8_t count_;
  const int hashes_;
  const size_t size_;
  // The memory of counters_ is from calloc, so that creating the table touches
  // none of its pages: only pages in use take physical memory.
  MeteredBytes metered_;
  const std::unique_ptr<uint8_t[], Free> counters_;
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

Status CheckFilter(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(CheckCount(spec, "count", kMostCount));
  PERSIA_RETURN_IF_ERROR(CheckCount(spec, "expected_ids", kMostExpectedIds));
  const double ids = spec.Get("expected_ids", 0);
  const double rate = spec.Get("false_positive_rate", 0);
  PERSIA_RETURN_IF_ERROR(
      CheckParam(rate >= kLeastFalsePositiveRate && rate < 1, "admission", spec,
                 "false_positive_rate", rate,
                 Concat("at least ", NumberText(kLeastFalsePositiveRate),
                        " and below 1")));
  const double counters = FilterCounters(ids, rate);
  const double most = kMostFilterGiB * (1 << 30);
  return CheckParam(
      counters <= most, "admission", spec, "expected_ids", ids,
      Concat("at most ", NumberText(std::floor(ids * (most / counters))),
             " where false_positive_rate is ", NumberText(rate),
             ": more would take more than ", NumberText(kMostFilterGiB),
             " GiB of counters"));
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
    return CheckFilter(spec);
  }
  if (spec.name == "probability") {
    PERSIA_RETURN_IF_ERROR(spec.CheckParams("admission", {"p"}));
    const double p = spec.Get("p", 0);
    return CheckParam(p > 0 && p <= 1, "admission", spec, "p", p,
                      "above 0 and at most 1");
  }
  return InvalidArgument(
      "admission must be always, min_count, bloom_min_count or probability, "
      "received \"",
      spec.name, "\"");
}

std::unique_ptr<Admission> MakeAdmission(const Spec& spec, uint64_t table_seed,
                                         double share, MemoryMeter* meter) {
  if (spec.name == "min_count") {
    return std::make_unique<MinCount>(
        static_cast<uint32_t>(spec.Get("count", 1)), meter);
  }
  if (spec.name == "bloom_min_count") {
    return std::make_unique<BloomMinCount>(
        static_cast<uint8_t>(spec.Get("count", 1)),
        spec.Get("expected_ids", 1) * share,
        spec.Get("false_positive_rate", 0.01), meter);
  }
  if (spec.name == "probability") {
    return std::make_unique<Probability>(table_seed, spec.Get("p", 1));
  }
  return std::make_unique<Always>();
}

}  // namespace persia
