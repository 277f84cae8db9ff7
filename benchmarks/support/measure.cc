#include "benchmarks/support/measure.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace persia::bench {

double Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

void OnThreads(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::thread& other : others) other.join();
}

double RowsPerSecond(int threads, double seconds, const Body& body) {
  struct alignas(128) Share {
    double begin, end;
    size_t rows = 0;
  };
  std::vector<Share> shares(threads);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, threads);
  OnThreads(threads, [&](int thread) {
    Share& share = shares[thread];
    pthread_barrier_wait(&barrier);
    share.begin = Now();
    do {
      share.rows += body(thread);
      share.end = Now();
    } while (share.end - share.begin < seconds);
  });
  pthread_barrier_destroy(&barrier);
  Share all = shares[0];
  for (int t = 1; t < threads; ++t) {
    all.begin = std::min(all.begin, shares[t].begin);
    all.end = std::max(all.end, shares[t].end);
    all.rows += shares[t].rows;
  }
  return static_cast<double>(all.rows) / (all.end - all.begin);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

std::vector<double> Ratios(const std::vector<double>& numerators,
                           const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (size_t i = 0; i < numerators.size(); ++i) {
    ratios.push_back(numerators[i] / denominators[i]);
  }
  return ratios;
}

double ResidentBytes() {
  unsigned long long total = 0, resident = 0;  // NOLINT: the types for scanf.
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%llu %llu", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * sysconf(_SC_PAGESIZE) : 0;
}

// The anonymous huge pages of this process, in KiB.
static long AnonHugePages() {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) return 0;
  long kib = 0;
  char line[256];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "AnonHugePages: %ld", &kib) == 1) break;
  }
  std::fclose(file);
  return kib;
}

void WaitForHugePages() {
  constexpr int kMostSeconds = 60;
  long before = -1;
  for (int s = 0; s < kMostSeconds && AnonHugePages() != before; ++s) {
    before = AnonHugePages();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

void Print(const std::string& part, const Figures& figures) {
  std::printf("{\"part\": \"%s\", \"figures\": {", part.c_str());
  const char* separator = "";
  for (const auto& [name, value] : figures) {
    std::printf("%s\"%s\": %.6g", separator, name.c_str(), value);
    separator = ", ";
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

}  // namespace persia::bench
