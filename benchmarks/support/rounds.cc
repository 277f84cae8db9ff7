#include "benchmarks/support/rounds.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <tuple>

#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

double Quantile(std::vector<double>* values, double quantile) {
  if (values->empty()) return 0;
  const auto place = static_cast<size_t>(quantile * (values->size() - 1));
  std::nth_element(values->begin(), values->begin() + place, values->end());
  return (*values)[place];
}

}  // namespace

void ServeRounds(const MakeRequester& make) {
  std::map<std::tuple<std::string, int, int>, std::unique_ptr<Requester>> kept;
  std::cout << "{\"ready\": 1}" << std::endl;
  std::string kind;
  int threads = 0;
  int in_flight = 0;
  double seconds = 0;
  while (std::cin >> kind >> threads >> in_flight >> seconds) {
    std::vector<Requester*> requesters;
    for (int thread = 0; thread < threads; ++thread) {
      auto& requester = kept[{kind, thread, in_flight}];
      if (requester == nullptr) requester = make(kind, thread, in_flight);
      requester
          ->Next();  // Warm-up: the first request's set-up is not measured.
      requester->Drain();
      requester->seconds.clear();
      requesters.push_back(requester.get());
    }
    const double rate = RowsPerSecond(
        threads, seconds,
        [&requesters](int thread) { return requesters[thread]->Next(); });
    std::vector<double> all;
    for (Requester* requester : requesters) {
      requester->Drain();
      all.insert(all.end(), requester->seconds.begin(),
                 requester->seconds.end());
    }
    std::cout << "{\"rows_per_second\": " << rate
              << ", \"p50_ms\": " << 1e3 * Quantile(&all, 0.5)
              << ", \"p99_ms\": " << 1e3 * Quantile(&all, 0.99)
              << ", \"requests\": " << all.size() << ", \"ms\": [";
    const char* separator = "";
    for (const Requester* requester : requesters) {
      for (const double seconds : requester->seconds) {
        std::cout << separator << 1e3 * seconds;
        separator = ", ";
      }
    }
    std::cout << "]}" << std::endl;
  }
}

}  // namespace persia::bench
