#include "tests/fuzz/service/require.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

// Null if no sanitizer is linked.
extern "C" void __sanitizer_set_death_callback(void (*callback)(void))
    __attribute__((weak));

namespace persia {
namespace {

struct Lines {
  std::mutex mutex;
  // All below are guarded by mutex.
  std::vector<std::string> lines;
  std::function<void()> before;
};

// Never destroyed, because threads may trace until the process ends.
Lines& All() {
  static Lines& all = *new Lines;
  return all;
}

}  // namespace

void BeginTrace() {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().lines.clear();
}

void Trace(std::string line) {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().lines.push_back(std::move(line));
}

void BeforeFailing(std::function<void()> tell) {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().before = std::move(tell);
}

void PrintTrace() {
  std::lock_guard<std::mutex> lock(All().mutex);
  if (All().before) All().before();
  int number = 0;
  for (const std::string& line : All().lines) {
    std::fprintf(stderr, "  %3d %s\n", number++, line.c_str());
  }
}

void TraceFindings() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(&PrintTrace);
  }
}

void Fail(const std::string& what) {
  PrintTrace();
  std::fprintf(stderr, "this does not hold: %s\n", what.c_str());
  std::abort();
}

}  // namespace persia
