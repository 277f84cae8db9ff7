#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

// A table of some size, an array of the same rows, and the requests to both.
class Contestants {
 public:
  Contestants(const Options& options, uint64_t rows)
      : options_(options),
        rows_(rows),
        table_(MakeBfloat16Table()),
        flat_(rows * kBfloat16Stride) {
    Fill(options, 0, rows, table_.get());
    WaitForHugePages();
    for (int t = 0; t < options.threads; ++t) {
      requests_.emplace_back(Requests::Plan{
          rows, options.batch, options.requests, options.seed + t});
      answers_.push_back(std::make_unique<HugeArray>(
          options.batch * kBfloat16Dim * sizeof(float)));
    }
  }

  void RunRound() {
    const auto look_up = [this](int thread) {
      Requests& requests = requests_[thread];
      requests.Advance();
      table_->Lookup(requests.ids(), /*read_only=*/false,
                     Span<float>(answers_[thread]->floats(),
                                 requests.batch() * kBfloat16Dim));
      return requests.batch();
    };
    const auto gather = [this](int thread) {
      Requests& requests = requests_[thread];
      requests.Advance();
      GatherBfloat16Rows(flat_.data(), requests.indices(), requests.batch(),
                         answers_[thread]->floats());
      return requests.batch();
    };
    store_.push_back(
        RowsPerSecond(options_.threads, options_.seconds, look_up));
    array_.push_back(RowsPerSecond(options_.threads, options_.seconds, gather));
  }

  const std::vector<double>& store() const { return store_; }
  const std::vector<double>& array() const { return array_; }

  double OverheadBytesPerRow() const {
    CheckRows(*table_, rows_);
    const auto bytes = static_cast<double>(table_->Stats().bytes);
    return bytes / static_cast<double>(rows_) - kBfloat16Stride;
  }

 private:
  const Options& options_;
  const uint64_t rows_;
  const std::shared_ptr<Table> table_;
  HugeArray flat_;
  std::vector<Requests> requests_;
  std::vector<std::unique_ptr<HugeArray>> answers_;
  std::vector<double> store_, array_;
};

}  // namespace

void RunLargePart(const Options& options) {
  const double begin = Now();
  Contestants large(options, options.large_rows);
  const double fill_seconds = Now() - begin;
  Contestants small(options, options.small_rows);
  for (int round = 0; round < options.rounds; ++round) {
    large.RunRound();
    small.RunRound();
  }
  const auto large_ratios = Ratios(large.store(), large.array());
  const auto small_ratios = Ratios(small.store(), small.array());
  Print("large",
        {{"large_over_small", Median(Ratios(large_ratios, small_ratios))},
         {"large_lookup_over_gather", Median(large_ratios)},
         {"small_lookup_over_gather", Median(small_ratios)},
         {"large_lookup_mrows_per_second", Median(large.store()) / 1e6},
         {"small_lookup_mrows_per_second", Median(small.store()) / 1e6},
         {"large_gather_mrows_per_second", Median(large.array()) / 1e6},
         {"small_gather_mrows_per_second", Median(small.array()) / 1e6},
         {"large_overhead_bytes_per_row", large.OverheadBytesPerRow()},
         {"large_fill_seconds", fill_seconds}});
}

}  // namespace persia::bench
