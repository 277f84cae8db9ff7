#include "cc/store/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "cc/base/number.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

std::unique_ptr<Admission> AdmissionOf(const std::string& text,
                                       uint64_t table_seed = 1,
                                       double share = 1) {
  const Spec spec = SpecOf(text);
  EXPECT_TRUE(CheckAdmission(spec).ok()) << text;
  return MakeAdmission(spec, table_seed, share);
}

// Returns which of up to 1000 calls of Admit lets `id` in.
int FirstAdmitted(Admission* admission, int64_t id) {
  for (int times = 1; times <= 1000; ++times) {
    if (admission->Admit(id)) return times;
  }
  return 0;
}

TEST(Always, LetsEveryIdIn) {
  const auto admission = AdmissionOf("always");
  for (int64_t id = -100; id < 100; ++id) EXPECT_TRUE(admission->Admit(id));
  EXPECT_EQ(admission->bytes(), 0u);
}

TEST(MinCount, LetsAnIdInAtTheNthAsking) {
  for (const int count : {1, 2, 3, 10, 300}) {
    const auto admission = AdmissionOf(Concat("min_count(count=", count, ")"));
    for (const int64_t id : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
      EXPECT_EQ(FirstAdmitted(admission.get(), id), count);
    }
  }
}

TEST(MinCount, CountsEachIdByItself) {
  const auto admission = AdmissionOf("min_count(count=3)");
  for (int round = 1; round <= 3; ++round) {
    for (int64_t id = 0; id < 5000; ++id) {
      ASSERT_EQ(admission->Admit(id), round == 3) << id;
    }
  }
}

TEST(MinCount, ForgetsAnIdThatItLetIn) {
  const auto admission = AdmissionOf("min_count(count=2)");
  EXPECT_EQ(FirstAdmitted(admission.get(), 1), 2);
  EXPECT_EQ(FirstAdmitted(admission.get(), 1), 2);
}

TEST(MinCount, TakesFifteenToTwentyBytesForAnIdThatWaits) {
  const auto admission = AdmissionOf("min_count(count=2)");
  constexpr int64_t kFrom = 20000, kTo = 320000;
  double least = 1e9, most = 0, log_average = 0;
  for (int64_t id = 1; id <= kTo; ++id) {
    admission->Admit(id);
    if (id < kFrom) continue;
    const double each = static_cast<double>(admission->bytes()) / id;
    least = std::min(least, each);
    most = std::max(most, each);
    // The average over the logarithm of the size: each size counts as much as
    // its double.
    log_average += each / (id * std::log(double{kTo} / kFrom));
  }
  EXPECT_NEAR(least, 15.5, 0.5);
  EXPECT_NEAR(most, 20, 0.7);
  EXPECT_NEAR(log_average, 17, 0.7);
}

TEST(MinCount, GrowsByLittleAtATime) {
  const auto admission = AdmissionOf("min_count(count=2)");
  size_t before = admission->bytes(), most = 0;
  for (int64_t id = 0; id < 300000; ++id) {
    admission->Admit(id);
    most = std::max(most, admission->bytes() - before);
    before = admission->bytes();
  }
  EXPECT_LE(most, 80u << 10);
}

TEST(MinCount, ReusesTheMemoryOfIdsThatItLetIn) {
  const auto admission = AdmissionOf("min_count(count=2)");
  size_t bytes = 0;
  for (int64_t id = 0; id < 100000; ++id) {
    ASSERT_FALSE(admission->Admit(id));
    ASSERT_TRUE(admission->Admit(id));
    if (id == 1000) bytes = admission->bytes();
  }
  EXPECT_EQ(admission->bytes(), bytes);
}

TEST(BloomMinCount, LetsNoIdInLate) {
  for (const int count : {1, 2, 3, 255}) {
    // Many more ids than expected only make the filter let ids in early.
    const auto admission =
        AdmissionOf(Concat("bloom_min_count(count=", count,
                           ",expected_ids=50,false_positive_rate=0.1)"));
    for (int round = 1; round <= count; ++round) {
      for (int64_t id = 0; id < 300; ++id) {
        const bool admitted = admission->Admit(id);
        if (round == count) {
          ASSERT_TRUE(admitted) << count << " " << id;
        }
      }
    }
  }
}

TEST(BloomMinCount, AloneAnIdIsLetInAtTheNthAsking) {
  for (const int count : {1, 2, 7, 255}) {
    const auto admission =
        AdmissionOf(Concat("bloom_min_count(count=", count,
                           ",expected_ids=1000,false_positive_rate=0.01)"));
    EXPECT_EQ(FirstAdmitted(admission.get(), 77), count);
  }
}

// The share of `ids` ids, asked for in turn, that are let in before their last
// call.
double EarlyRate(const std::string& text, int count, int64_t ids) {
  const auto admission = AdmissionOf(text);
  std::unordered_map<int64_t, bool> early;
  for (int round = 1; round < count; ++round) {
    for (int64_t id = 0; id < ids; ++id) early[id] |= admission->Admit(id);
  }
  double sum = 0;
  for (const auto& [id, is_early] : early) sum += is_early;
  return sum / static_cast<double>(ids);
}

TEST(BloomMinCount, LetsFewIdsInEarly) {
  constexpr int64_t kIds = 50000;
  for (const double rate : {0.1, 0.01, 0.001}) {
    for (const int count : {2, 4}) {
      const std::string text =
          Concat("bloom_min_count(count=", count, ",expected_ids=", kIds,
                 ",false_positive_rate=", rate, ")");
      EXPECT_LE(EarlyRate(text, count, kIds), rate) << text;
    }
  }
}

TEST(BloomMinCount, TheLastOfTheExpectedIdsIsEarlyAtTheStatedRate) {
  constexpr int64_t kIds = 100000;
  constexpr double kRate = 0.02;
  const auto admission =
      AdmissionOf(Concat("bloom_min_count(count=2,expected_ids=", kIds,
                         ",false_positive_rate=", kRate, ")"));
  for (int64_t id = 0; id < kIds; ++id) admission->Admit(id);
  // So few more ids that they hardly change the filter.
  constexpr int kMore = 5000;
  int early = 0;
  for (int64_t id = kIds; id < kIds + kMore; ++id)
    early += admission->Admit(id);
  // Four standard errors; the factors allow for k, which is a whole number.
  const double error = std::sqrt(kRate / kMore);
  EXPECT_LE(static_cast<double>(early) / kMore, 1.1 * kRate + 4 * error);
  EXPECT_GE(static_cast<double>(early) / kMore, 0.5 * kRate - 4 * error);
}

TEST(BloomMinCount, TakesTheStatedMemory) {
  const auto bytes = [](double ids, double rate, double share) {
    const std::string text =
        Concat("bloom_min_count(count=3,expected_ids=", ids,
               ",false_positive_rate=", rate, ")");
    return static_cast<double>(AdmissionOf(text, 1, share)->bytes());
  };
  const double ln2_squared = std::log(2.0) * std::log(2.0);
  EXPECT_EQ(bytes(10000, 0.01, 1),
            std::ceil(-10000 * std::log(0.01) / ln2_squared));
  EXPECT_EQ(bytes(80000, 0.001, 0.25),
            std::ceil(-20000 * std::log(0.001) / ln2_squared));
}

TEST(BloomMinCount, TakesNoMoreMemoryForMoreIds) {
  const auto admission = AdmissionOf(
      "bloom_min_count(count=2,expected_ids=1000,false_positive_rate=0.01)");
  const size_t bytes = admission->bytes();
  for (int64_t id = 0; id < 100000; ++id) admission->Admit(id);
  EXPECT_EQ(admission->bytes(), bytes);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PERSIA_TEST_OF_REAL_MEMORY(name) DISABLED_##name
#else
#define PERSIA_TEST_OF_REAL_MEMORY(name) name
#endif

// Pages of memory that this process has.
long ResidentPages() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

TEST(BloomMinCount, PERSIA_TEST_OF_REAL_MEMORY(TakesMemoryOnlyAsItIsUsed)) {
  const long before = ResidentPages();
  const auto admission = AdmissionOf(
      "bloom_min_count(count=2,expected_ids=3e7,false_positive_rate=0.01)");
  EXPECT_GT(admission->bytes(), size_t{256} << 20);
  for (int64_t id = 0; id < 100; ++id) EXPECT_FALSE(admission->Admit(id));
  // At most 7 pages per id; the whole filter would be 70000 pages.
  EXPECT_LT(ResidentPages() - before, 10000);
}

TEST(BloomMinCount, MayHaveSixtyFourGibibytesOfCounters) {
  const auto check = [](double ids) {
    return CheckAdmission(
        SpecOf(Concat("bloom_min_count(count=2,expected_ids=", NumberText(ids),
                      ",false_positive_rate=1e-9)")));
  };
  const double most =
      std::floor(std::pow(2, 36) * std::pow(std::log(2), 2) / std::log(1e9));
  EXPECT_TRUE(check(most).ok());
  EXPECT_FALSE(check(most + 1).ok());
}

TEST(Probability, DecidesByTheIdAlone) {
  const auto admission = AdmissionOf("probability(p=0.3)", 5);
  const auto other = AdmissionOf("probability(p=0.3)", 5);
  for (int64_t id = 0; id < 1000; ++id) {
    const bool admitted = admission->Admit(id);
    ASSERT_EQ(admission->Admit(id), admitted);
  }
  for (int64_t id = 999; id >= 0; --id) {
    ASSERT_EQ(other->Admit(id), admission->Admit(id));
  }
}

TEST(Probability, LetsItsShareIn) {
  constexpr int kIds = 100000;
  for (const double p : {0.01, 0.3, 0.9}) {
    const auto admission = AdmissionOf(Concat("probability(p=", p, ")"));
    int admitted = 0;
    for (int64_t id = 0; id < kIds; ++id) admitted += admission->Admit(id);
    EXPECT_NEAR(static_cast<double>(admitted) / kIds, p,
                4 * std::sqrt(p * (1 - p) / kIds));
  }
}

TEST(Probability, OfOneLetsEveryIdIn) {
  const auto admission = AdmissionOf("probability(p=1)");
  for (int64_t id = 0; id < 10000; ++id) ASSERT_TRUE(admission->Admit(id));
}

TEST(Probability, LetsOtherIdsIntoOtherTables) {
  const auto one = AdmissionOf("probability(p=0.5)", 1);
  const auto other = AdmissionOf("probability(p=0.5)", 2);
  int same = 0;
  for (int64_t id = 0; id < 10000; ++id) {
    same += one->Admit(id) == other->Admit(id);
  }
  EXPECT_NEAR(same, 5000, 200);
}

// A rule, and the whole of its error.
using BadAdmission = std::pair<const char*, const char*>;
class CheckAdmissionRefuses : public ::testing::TestWithParam<BadAdmission> {};

TEST_P(CheckAdmissionRefuses, SayingParameterRuleAndValue) {
  const auto [text, message] = GetParam();
  const Status status = CheckAdmission(SpecOf(text));
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(status.message(), message);
}

INSTANTIATE_TEST_SUITE_P(
    BadAdmissions, CheckAdmissionRefuses,
    ::testing::Values(
        BadAdmission("never",
                     "admission must be always, min_count, bloom_min_count or "
                     "probability, received \"never\""),
        BadAdmission("always(count=2)",
                     "admission always has no parameter count; it has none"),
        BadAdmission("min_count(n=2)",
                     "admission min_count has no parameter n; it has count"),
        BadAdmission("min_count(count=0)",
                     "admission min_count: count must be a whole number from 1 "
                     "to 4294967295, received 0"),
        BadAdmission("min_count(count=1.5)",
                     "admission min_count: count must be a whole number from 1 "
                     "to 4294967295, received 1.5"),
        BadAdmission("bloom_min_count(count=256,expected_ids=9,"
                     "false_positive_rate=0.1)",
                     "admission bloom_min_count: count must be a whole number "
                     "from 1 to 255, received 256"),
        BadAdmission("bloom_min_count(count=2,expected_ids=0,"
                     "false_positive_rate=0.1)",
                     "admission bloom_min_count: expected_ids must be a whole "
                     "number from 1 to 1e+10, received 0"),
        BadAdmission("bloom_min_count(count=2,expected_ids=9,"
                     "false_positive_rate=1)",
                     "admission bloom_min_count: false_positive_rate must be "
                     "at least 1e-09 and below 1, received 1"),
        BadAdmission("bloom_min_count(count=2,expected_ids=9,"
                     "false_positive_rate=1e-10)",
                     "admission bloom_min_count: false_positive_rate must be "
                     "at least 1e-09 and below 1, received 1e-10"),
        BadAdmission("bloom_min_count(count=2,expected_ids=1.5,"
                     "false_positive_rate=0.1)",
                     "admission bloom_min_count: expected_ids must be a whole "
                     "number from 1 to 1e+10, received 1.5"),
        BadAdmission("bloom_min_count(count=2,expected_ids=1e10,"
                     "false_positive_rate=0.01)",
                     "admission bloom_min_count: expected_ids must be at most "
                     "7169437475 where false_positive_rate is 0.01: more would "
                     "take more than 64 GiB of counters, received 1e+10"),
        BadAdmission("min_count(count=4294967296)",
                     "admission min_count: count must be a whole number from 1 "
                     "to 4294967295, received 4294967296"),
        BadAdmission("probability(p=0)",
                     "admission probability: p must be above 0 and at most 1, "
                     "received 0"),
        BadAdmission("probability(p=1.01)",
                     "admission probability: p must be above 0 and at most 1, "
                     "received 1.01")));

}  // namespace
}  // namespace persia
