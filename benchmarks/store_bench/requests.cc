#include "benchmarks/store_bench/requests.h"

#include <algorithm>

namespace persia::bench {

Requests::Requests(const Plan& plan) {
  const uint64_t choices = (plan.rows - plan.first + plan.step - 1) / plan.step;
  batch_ = std::min<size_t>(plan.batch, choices);
  ids_.reserve(plan.count * batch_);
  indices_.reserve(plan.count * batch_);
  // For each row, the last request that has it: no request may have a row
  // twice.
  std::vector<uint16_t> last_request(choices, 0);
  uint64_t state = Mix64(plan.seed);
  for (size_t request = 1; request <= plan.count; ++request) {
    while (indices_.size() < request * batch_) {
      const auto choice = static_cast<uint64_t>(
          (static_cast<unsigned __int128>(Mix64(++state)) * choices) >> 64);
      if (last_request[choice] == request) continue;
      last_request[choice] = static_cast<uint16_t>(request);
      const uint64_t rank = plan.first + choice * plan.step;
      indices_.push_back(static_cast<uint32_t>(rank));
      ids_.push_back(IdOf(rank));
    }
  }
}

}  // namespace persia::bench
