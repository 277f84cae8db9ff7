// Programs of steps of two shards and two jobs, which create, train, save,
// restore and kill: see service/program.h. What must be there is checked
// against plain maps.
//
// libFuzzer: -max_len=1200 -detect_leaks=0 -rss_limit_mb=2048

#include <random>
#include <vector>

#include "tests/fuzz/service/program.h"
#include "tests/fuzz/service/require.h"
#include "tests/fuzz/service/world.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {

void FuzzOne(Span<const uint8_t> bytes) { RunProgram(bytes); }

std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  std::mt19937_64 random(1);
  for (const size_t steps : {10, 30, 60, 100, 200, 290}) {
    for (int i = 0; i < 4; ++i) seeds.push_back(RandomProgram(&random, steps));
  }
  return seeds;
}

}  // namespace persia

// A table with a filter that is too large must be an error, whatever used up
// memory.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}
