// The benchmark's parts. Each creates its tables, prints its figures on a line,
// and frees its memory.

#ifndef PERSIA_BENCHMARKS_STORE_BENCH_PARTS_H_
#define PERSIA_BENCHMARKS_STORE_BENCH_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cc/store/table.h"

namespace persia::bench {

struct Options {
  uint64_t rows = 10'000'000;
  uint64_t small_rows = 1'000'000;
  uint64_t large_rows = 100'000'000;
  uint64_t growth_first = uint64_t{1} << 20;
  uint64_t growth_last = uint64_t{1} << 25;
  int growth_rounds = 3;
  size_t batch = 25'000;
  size_t requests = 200;  // Per thread, which cycles through them.
  int threads = 2;
  int rounds = 7;
  double seconds = 0.25;  // Per measurement.
  uint64_t seed = 1;
};

// The comment of each function below begins with the names of the figures that
// it prints.

// overhead_bytes_per_row; with `lookup` also lookup_over_gather and
// two_threads_over_one; with `update` also update_over_loop and
// update_only_over_loop: one table of float32 rows with Adagrad.
void RunAdagradParts(const Options& options, bool lookup, bool update);

// large_over_small: two tables of bfloat16 rows.
void RunLargePart(const Options& options);

// growth_p999_over_p50, growth_worst_ms: latencies of one thread's lookups that
// grow a table.
void RunGrowthPart(const Options& options);

// followed_over_alone: the speed of training in one thread with a follower,
// over the speed without. After each step, the follower takes every row that
// the step trained.
void RunFollowedPart(const Options& options);

// dense_over_lazy_adam: the speed of training in one thread with dense Adam,
// which makes up for the steps in which a row had no gradient, over lazy Adam,
// which does not.
void RunDensePart(const Options& options);

// Tables without capacity, admission or eviction. Ends the program on an error.
std::shared_ptr<Table> MakeAdagradTable();
std::shared_ptr<Table> MakeAdamTable(bool dense);
std::shared_ptr<Table> MakeBfloat16Table();

// Creates the rows of IdOf(begin), ..., IdOf(end - 1), with all threads.
void Fill(const Options& options, uint64_t begin, uint64_t end, Table* table);

// Ends the program if the table does not hold `rows` rows: with fewer, the
// figures would be meaningless.
void CheckRows(const Table& table, uint64_t rows);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_STORE_BENCH_PARTS_H_
