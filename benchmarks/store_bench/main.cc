// store_bench: the table against flat arrays. Run by benchmarks/store_bench.py,
// which names the parts and the sizes:
//
//   store_bench lookup,update,followed,dense,large,growth rows=10000000
//   rounds=7 ...

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "benchmarks/store_bench/parts.h"

namespace persia::bench {
namespace {

bool Parse(int count, char** texts, Options* options) {
  const auto set = [](auto* field) {
    return [field](double value) {
      *field = static_cast<std::remove_pointer_t<decltype(field)>>(value);
    };
  };
  const std::map<std::string, std::function<void(double)>> setters = {
      {"rows", set(&options->rows)},
      {"small_rows", set(&options->small_rows)},
      {"large_rows", set(&options->large_rows)},
      {"growth_first", set(&options->growth_first)},
      {"growth_last", set(&options->growth_last)},
      {"growth_rounds", set(&options->growth_rounds)},
      {"batch", set(&options->batch)},
      {"requests", set(&options->requests)},
      {"threads", set(&options->threads)},
      {"rounds", set(&options->rounds)},
      {"seconds", set(&options->seconds)},
      {"seed", set(&options->seed)},
  };
  for (int i = 0; i < count; ++i) {
    const std::string text = texts[i];
    const size_t equals = text.find('=');
    const auto setter = setters.find(text.substr(0, equals));
    if (equals == std::string::npos || setter == setters.end()) {
      std::fprintf(stderr, "store_bench: no such option: %s\n", text.c_str());
      return false;
    }
    setter->second(std::atof(text.c_str() + equals + 1));
  }
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  if (argc < 2 || !Parse(argc - 2, argv + 2, &options)) {
    std::fprintf(stderr, "usage: %s PART,... [NAME=VALUE ...]\n", argv[0]);
    return 2;
  }
  const std::string parts = argv[1];
  const auto has = [&parts](const char* part) {
    return parts.find(part) != std::string::npos;
  };
  if (has("lookup") || has("update") || has("memory")) {
    RunAdagradParts(options, has("lookup"), has("update"));
  }
  if (has("followed")) RunFollowedPart(options);
  if (has("dense")) RunDensePart(options);
  if (has("large")) RunLargePart(options);
  if (has("growth")) RunGrowthPart(options);
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
