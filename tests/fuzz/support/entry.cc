// libFuzzer's entry points, alike for every target.
//
//   NAME_fuzz --write-seeds=FOLDER   writes the seeds there, and ends

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/fuzz/support/fuzz_target.h"

namespace persia {
namespace {

constexpr std::string_view kWriteSeeds = "--write-seeds=";

void WriteSeeds(const std::string& folder) {
  int number = 0;
  for (const FuzzInput& seed : Seeds()) {
    const std::string path = folder + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (file.flush()) continue;
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    std::exit(1);
  }
}

}  // namespace
}  // namespace persia

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.rfind(persia::kWriteSeeds, 0) != 0) continue;
    persia::WriteSeeds(
        std::string(argument.substr(persia::kWriteSeeds.size())));
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  persia::FuzzOne(persia::Span<const uint8_t>(data, size));
  return 0;
}
