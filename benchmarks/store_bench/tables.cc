#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

std::shared_ptr<Table> Make(TableConfig config) {
  config.name = "store_bench";
  config.initializer = {"uniform", {{"minval", -0.05}, {"maxval", 0.05}}};
  auto table = MakeTable(config);
  CheckOk(table.status());
  return std::move(*table);
}

}  // namespace

std::shared_ptr<Table> MakeAdagradTable() {
  TableConfig config;
  config.dim = kAdagradDim;
  config.optimizer = {"adagrad", {}};
  return Make(config);
}

std::shared_ptr<Table> MakeAdamTable(bool dense) {
  TableConfig config;
  config.dim = kAdagradDim;
  config.optimizer = {"adam", {{"dense", dense ? 1.0 : 0.0}}};
  return Make(config);
}

std::shared_ptr<Table> MakeBfloat16Table() {
  TableConfig config;
  config.dim = kBfloat16Dim;
  config.optimizer = {"sgd", {}};
  config.row_dtype = {"bfloat16", {}};
  return Make(config);
}

void Fill(const Options& options, uint64_t begin, uint64_t end, Table* table) {
  const uint64_t share = (end - begin + options.threads - 1) / options.threads;
  OnThreads(options.threads, [&](int thread) {
    std::vector<int64_t> ids;
    std::vector<float> rows(options.batch * table->config().dim);
    uint64_t rank = std::min(end, begin + thread * share);
    const uint64_t last = std::min(end, rank + share);
    while (rank < last) {
      ids.clear();
      while (rank < last && ids.size() < options.batch) {
        ids.push_back(IdOf(rank++));
      }
      rows.resize(ids.size() * table->config().dim);
      table->Lookup(ids, /*read_only=*/false, rows);
    }
  });
  CheckRows(*table, end);
}

void CheckRows(const Table& table, uint64_t rows) {
  const uint64_t held = table.Stats().rows;
  if (held == rows) return;
  Fail("the table should hold " + std::to_string(rows) + " rows and holds " +
       std::to_string(held));
}

}  // namespace persia::bench
