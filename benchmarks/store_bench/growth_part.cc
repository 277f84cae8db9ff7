#include <algorithm>
#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

constexpr size_t kBatch = 4096;

// The quantile `share` of the times.
double Quantile(std::vector<double> times, double share) {
  const auto place = static_cast<size_t>(share * (times.size() - 1) + 0.5);
  std::nth_element(times.begin(), times.begin() + place, times.end());
  return times[place];
}

// Measures how the machine itself stalls. Runs `times` gathers from an array as
// large as the grown table, each of which takes about as long as a lookup of
// kBatch new rows. Returns how long each gather took, in seconds.
std::vector<double> Gather(const Options& options, size_t times) {
  constexpr size_t kGathered = 7 * kBatch;
  Requests requests({options.growth_last, kGathered, 64, options.seed});
  HugeArray flat(options.growth_last * kAdagradStride);
  HugeArray answer(kGathered * kAdagradStride / 2);
  std::vector<double> gathers;
  while (gathers.size() < times) {
    requests.Advance();
    const double begin = Now();
    GatherRows(flat.data(), requests.indices(), requests.batch(),
               answer.floats());
    gathers.push_back(Now() - begin);
  }
  return gathers;
}

// Grows a table; returns how long each lookup took, in seconds.
std::vector<double> Grow(const Options& options) {
  const auto table = MakeAdagradTable();
  Fill(options, 0, options.growth_first, table.get());
  HugeArray answer(kBatch * kAdagradStride / 2);
  const Span<float> rows(answer.floats(), kBatch * kAdagradDim);
  std::vector<int64_t> ids(kBatch);
  std::vector<double> times;
  uint64_t rank = options.growth_first;
  while (rank + kBatch <= options.growth_last) {
    for (int64_t& id : ids) id = IdOf(rank++);
    const double begin = Now();
    table->Lookup(ids, /*read_only=*/false, rows);
    times.push_back(Now() - begin);
  }
  CheckRows(*table, rank);
  return times;
}

// The maximum, over all lookups, of a lookup's minimum over the rounds.
double WorstOfLeast(const std::vector<std::vector<double>>& rounds) {
  double worst = 0;
  for (size_t i = 0; i < rounds[0].size(); ++i) {
    double least = rounds[0][i];
    for (const auto& times : rounds) least = std::min(least, times[i]);
    worst = std::max(worst, least);
  }
  return worst;
}

}  // namespace

// Every round requests the same ids, so a stall that the table causes is in the
// same lookup of each round, and a stall in only one round is the machine's.
// Therefore growth_worst_ms is WorstOfLeast. Every other figure is computed in
// each round; its median over the rounds is printed.
void RunGrowthPart(const Options& options) {
  std::vector<std::vector<double>> rounds;
  std::vector<double> p50, p99, p999, p999_over_p50, worst_as_met;
  std::vector<double> control_p999_over_p50, control_worst_as_met;
  for (int round = 0; round < options.growth_rounds; ++round) {
    rounds.push_back(Grow(options));
    const std::vector<double>& times = rounds.back();
    const std::vector<double> gathers = Gather(options, times.size());
    p50.push_back(Quantile(times, 0.5) * 1e3);
    p99.push_back(Quantile(times, 0.99) * 1e3);
    p999.push_back(Quantile(times, 0.999) * 1e3);
    p999_over_p50.push_back(p999.back() / p50.back());
    worst_as_met.push_back(Quantile(times, 1) * 1e3);
    control_p999_over_p50.push_back(Quantile(gathers, 0.999) /
                                    Quantile(gathers, 0.5));
    control_worst_as_met.push_back(Quantile(gathers, 1) * 1e3);
  }
  Print("growth",
        {{"growth_p999_over_p50", Median(p999_over_p50)},
         {"growth_worst_ms", WorstOfLeast(rounds) * 1e3},
         {"growth_worst_as_met_ms", Median(worst_as_met)},
         {"growth_p50_ms", Median(p50)},
         {"growth_p99_ms", Median(p99)},
         {"growth_p999_ms", Median(p999)},
         {"growth_control_p999_over_p50", Median(control_p999_over_p50)},
         {"growth_control_worst_as_met_ms", Median(control_worst_as_met)}});
}

}  // namespace persia::bench
