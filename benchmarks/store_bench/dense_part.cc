#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

// A table that one thread trains. Each request is the next step of a model, so
// a row has missed all steps since it was last requested.
class Training {
 public:
  Training(const Options& options, std::shared_ptr<Table> table)
      : table_(std::move(table)),
        requests_({options.small_rows, options.batch, options.requests,
                   options.seed}),
        row_memory_(options.batch * kAdagradStride / 2),
        rows_(row_memory_.floats(), options.batch * kAdagradDim),
        gradients_(rows_.size(), 0.001f) {
    Fill(options, 0, options.small_rows, table_.get());
  }

  size_t Step() {
    requests_.Advance();
    table_->Lookup(requests_.ids(), /*read_only=*/false, rows_);
    table_->Update(requests_.ids(), gradients_, {0.001f, ++number_});
    return requests_.batch();
  }

 private:
  const std::shared_ptr<Table> table_;
  Requests requests_;
  HugeArray row_memory_;
  const Span<float> rows_;
  const std::vector<float> gradients_;
  uint32_t number_ = 0;
};

}  // namespace

void RunDensePart(const Options& options) {
  Training dense(options, MakeAdamTable(/*dense=*/true));
  Training lazy(options, MakeAdamTable(/*dense=*/false));
  std::vector<double> dense_rates, lazy_rates;
  for (int round = 0; round < options.rounds; ++round) {
    lazy_rates.push_back(
        RowsPerSecond(1, options.seconds, [&](int) { return lazy.Step(); }));
    dense_rates.push_back(
        RowsPerSecond(1, options.seconds, [&](int) { return dense.Step(); }));
  }
  Print("dense",
        {{"dense_over_lazy_adam", Median(Ratios(dense_rates, lazy_rates))},
         {"dense_mrows_per_second", Median(dense_rates) / 1e6},
         {"lazy_mrows_per_second", Median(lazy_rates) / 1e6}});
}

}  // namespace persia::bench
