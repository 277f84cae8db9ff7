// chosen_ids: how long requests with chosen ids take, over requests with as
// many random ids. Run by benchmarks/chosen_ids.py:
//
//   chosen_ids IDS ROUNDS
//   chosen_ids NAME COUNT FILE
//
// The first form prints, for each kind of ids, the time that the ids take over
// the time that random ids take: for deduplicating the ids, and for creating,
// looking up and updating their rows in a table. The second form writes COUNT
// ids of the kind NAME to FILE, as they are in memory.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/chosen_ids/chosen.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"
#include "cc/base/dedupe.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia::bench {
namespace {

constexpr uint32_t kDim = 16;
const std::vector<std::string> kChosen = {"lower_bits", "upper_bits",
                                          "sub_shard"};

std::shared_ptr<Table> NewTable() {
  TableConfig config;
  config.name = "chosen_ids";
  config.dim = kDim;
  config.optimizer = {"adagrad", {}};
  config.initializer = {"uniform", {{"minval", -0.05}, {"maxval", 0.05}}};
  auto table = MakeTable(config);
  CheckOk(table.status());
  return std::move(*table);
}

// The measured seconds, by the kind of ids and the operation.
using Times = std::map<std::string, std::map<std::string, std::vector<double>>>;

void Measure(const std::string& name, const std::vector<int64_t>& ids,
             Times* times) {
  const auto time = [&](const std::string& what, const auto& work) {
    const double begin = Now();
    work();
    (*times)[name][what].push_back(Now() - begin);
  };
  time("dedupe", [&] {
    if (Dedupe(ids).had_duplicates()) Fail("ids should be distinct");
  });
  const auto table = NewTable();
  std::vector<float> rows(ids.size() * kDim);
  time("create", [&] { table->Lookup(ids, /*read_only=*/false, rows); });
  time("lookup", [&] { table->Lookup(ids, /*read_only=*/true, rows); });
  time("update", [&] { table->Update(ids, rows, 0.1f); });
  if (table->Stats().rows != ids.size()) Fail("each id should have a row");
}

int Compare(size_t count, uint64_t rounds) {
  Times times;
  for (uint64_t round = 1; round <= rounds; ++round) {
    Measure("random", IdsOf("random", count, round), &times);
    for (const std::string& name : kChosen) {
      Measure(name, IdsOf(name, count, round), &times);
    }
  }
  Figures figures;
  for (const std::string& name : kChosen) {
    for (const auto& [what, taken] : times[name]) {
      figures.emplace_back(what + "_" + name + "_over_random",
                           Median(Ratios(taken, times["random"][what])));
    }
  }
  for (const auto& [what, taken] : times["random"]) {
    figures.emplace_back(what + "_random_ms", 1e3 * Median(taken));
  }
  Print("native", figures);
  return 0;
}

int Write(const std::string& name, size_t count, const char* path) {
  const std::vector<int64_t> ids = IdsOf(name, count, /*seed=*/1);
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) Fail(std::string("cannot write ") + path);
  const size_t written =
      std::fwrite(ids.data(), sizeof(int64_t), ids.size(), file);
  if (std::fclose(file) != 0 || written != ids.size()) {
    Fail(std::string("cannot write ") + path);
  }
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 3) return Compare(std::atoll(argv[1]), std::atoll(argv[2]));
  if (argc == 4) return Write(argv[1], std::atoll(argv[2]), argv[3]);
  std::fprintf(stderr, "usage: %s IDS ROUNDS, or NAME COUNT FILE\n", argv[0]);
  return 2;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
