#include <algorithm>
#include <vector>

#include "benchmarks/store_bench/flat_array.h"
#include "benchmarks/store_bench/measure.h"
#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"

namespace persia::bench {
namespace {

constexpr size_t kBatch = 4096;

// What `share` of the times are at most.
double Quantile(std::vector<double> times, double share) {
  const auto place = static_cast<size_t>(share * (times.size() - 1) + 0.5);
  std::nth_element(times.begin(), times.begin() + place, times.end());
  return times[place];
}

// How the machine itself stalls: gathers that take about as long as a lookup of
// kBatch new rows. Before and after the growth, since in between they would
// give the table's background work time that requests in a row do not give.
class Control {
 public:
  explicit Control(const Options& options)
      : requests_({kRows, kGathered, 64, options.seed}),
        flat_(kRows * kAdagradStride),
        answer_(kGathered * kAdagradStride / 2) {}

  void Run(size_t times) {
    for (size_t i = 0; i < times; ++i) {
      requests_.Advance();
      const double begin = Now();
      GatherRows(flat_.data(), requests_.indices(), requests_.batch(),
                 answer_.floats());
      times_.push_back(Now() - begin);
    }
  }

  const std::vector<double>& times() const { return times_; }

 private:
  static constexpr uint64_t kRows = 1'000'000;
  static constexpr size_t kGathered = 5 * kBatch;

  Requests requests_;
  HugeArray flat_;
  HugeArray answer_;
  std::vector<double> times_;
};

}  // namespace

void RunGrowthPart(const Options& options) {
  const size_t lookups = (options.growth_last - options.growth_first) / kBatch;
  Control control(options);
  control.Run(lookups / 2);

  const auto table = MakeAdagradTable();
  Fill(options, 0, options.growth_first, table.get());
  HugeArray answer(kBatch * kAdagradStride / 2);
  const Span<float> rows(answer.floats(), kBatch * kAdagradDim);
  std::vector<int64_t> ids(kBatch);
  std::vector<double> times;
  times.reserve(lookups);
  uint64_t rank = options.growth_first;
  const double first = Now();
  for (size_t i = 0; i < lookups; ++i) {
    for (int64_t& id : ids) id = IdOf(rank++);
    const double begin = Now();
    table->Lookup(ids, /*read_only=*/false, rows);
    times.push_back(Now() - begin);
  }
  const double seconds = Now() - first;
  CheckRows(*table, rank);

  control.Run(lookups - lookups / 2);
  const double p50 = Quantile(times, 0.5);
  const double control_p50 = Quantile(control.times(), 0.5);
  Print("growth",
        {{"growth_p999_over_p50", Quantile(times, 0.999) / p50},
         {"growth_worst_ms", Quantile(times, 1) * 1e3},
         {"growth_p50_ms", p50 * 1e3},
         {"growth_p99_ms", Quantile(times, 0.99) * 1e3},
         {"growth_p999_ms", Quantile(times, 0.999) * 1e3},
         {"growth_mrows_per_second", (lookups * kBatch) / seconds / 1e6},
         {"growth_control_p999_over_p50",
          Quantile(control.times(), 0.999) / control_p50},
         {"growth_control_worst_ms", Quantile(control.times(), 1) * 1e3},
         {"growth_control_p50_ms", control_p50 * 1e3}});
}

}  // namespace persia::bench
