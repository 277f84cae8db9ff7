#include "cc/service/pooling.h"

#include <algorithm>
#include <cmath>

namespace persia {
namespace {

// What a bag's weighted sum is divided by.
float Divisor(Combiner combiner, Span<const float> weights) {
  float sum = 0;
  if (combiner == Combiner::kMean) {
    for (const float weight : weights) sum += weight;
    return sum;
  }
  if (combiner == Combiner::kSqrtN) {
    for (const float weight : weights) sum += weight * weight;
    return std::sqrt(sum);
  }
  return 1;
}

void AddScaled(const float* __restrict from, float factor, size_t dim,
               float* __restrict to) {
  for (size_t d = 0; d < dim; ++d) to[d] += factor * from[d];
}

}  // namespace

Status CheckBags(const TableIds& ids) {
  const Span<const uint32_t> offsets = ids.bag_offsets;
  if (ids.combiner > Combiner::kSqrtN) {
    return InvalidArgument("combiner must be 0 to 3, received ",
                           static_cast<uint32_t>(ids.combiner));
  }
  if (ids.combiner == Combiner::kNone) {
    if (offsets.empty() && ids.weights.empty()) return Status();
    return InvalidArgument(
        "bag_offsets and weights must be empty without a combiner, received ",
        offsets.size(), " and ", ids.weights.size());
  }
  if (offsets.empty() || offsets.front() != 0 ||
      offsets.back() != ids.ids.size()) {
    return InvalidArgument(
        "bag_offsets must go from 0 to the number of ids, ", ids.ids.size(),
        ", received ",
        offsets.empty() ? "none"
                        : Concat(offsets.front(), " to ", offsets.back()));
  }
  if (!std::is_sorted(offsets.begin(), offsets.end())) {
    return InvalidArgument("bag_offsets must not fall");
  }
  if (!ids.weights.empty() && ids.weights.size() != ids.ids.size()) {
    return InvalidArgument("weights must be one an id, ", ids.ids.size(),
                           ", or none, received ", ids.weights.size());
  }
  return Status();
}

void BagPooler::Build(const TableIds& bags) {
  bags_ = bags;
  unique_ = Dedupe(bags.ids);
  SetFactors();
}

void BagPooler::SetFactors() {
  factors_.assign(bags_.weights.begin(), bags_.weights.end());
  factors_.resize(bags_.ids.size(), 1.0f);
  for (size_t b = 0; b + 1 < bags_.bag_offsets.size(); ++b) {
    const uint32_t begin = bags_.bag_offsets[b];
    const Span<float> bag(factors_.data() + begin,
                          bags_.bag_offsets[b + 1] - begin);
    const float divisor = Divisor(bags_.combiner, bag);
    for (float& factor : bag) factor = divisor == 0 ? 0 : factor / divisor;
  }
}

void BagPooler::Pool(Span<const float> rows, Span<float> vectors) const {
  const size_t dim = bags_.dim;
  std::fill(vectors.begin(), vectors.end(), 0.0f);
  for (size_t b = 0; b + 1 < bags_.bag_offsets.size(); ++b) {
    for (uint32_t i = bags_.bag_offsets[b]; i < bags_.bag_offsets[b + 1]; ++i) {
      AddScaled(rows.data() + unique_.inverse[i] * dim, factors_[i], dim,
                vectors.data() + b * dim);
    }
  }
}

void BagPooler::Unpool(Span<const float> vector_gradients,
                       Span<float> row_gradients) const {
  const size_t dim = bags_.dim;
  std::fill(row_gradients.begin(), row_gradients.end(), 0.0f);
  for (size_t b = 0; b + 1 < bags_.bag_offsets.size(); ++b) {
    for (uint32_t i = bags_.bag_offsets[b]; i < bags_.bag_offsets[b + 1]; ++i) {
      AddScaled(vector_gradients.data() + b * dim, factors_[i], dim,
                row_gradients.data() + unique_.inverse[i] * dim);
    }
  }
}

}  // namespace persia
