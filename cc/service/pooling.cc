#include "cc/service/pooling.h"

#include <algorithm>
#include <cmath>

namespace persia {
namespace {

// The number that a bag's weighted sum is divided by.
float Divisor(Combiner combiner, size_t ids, Span<const float> weights) {
  if (combiner == Combiner::kSum) return 1;
  float sum = weights.empty() ? static_cast<float>(ids) : 0;
  const bool squares = combiner == Combiner::kSqrtN;
  for (const float weight : weights) sum += squares ? weight * weight : weight;
  return squares ? std::sqrt(sum) : sum;
}

void Add(const float* __restrict from, size_t dim, float* __restrict to) {
  for (size_t d = 0; d < dim; ++d) to[d] += from[d];
}

void AddScaled(const float* __restrict from, float factor, size_t dim,
               float* __restrict to) {
  for (size_t d = 0; d < dim; ++d) to[d] += factor * from[d];
}

// Writes from / divisor to `to`; a division by zero gives zero.
void Divide(const float* from, float divisor, size_t dim, float* to) {
  for (size_t d = 0; d < dim; ++d) {
    to[d] = divisor == 0 ? 0 : from[d] / divisor;
  }
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
        "bag_offsets must begin with 0 and end with the number of ids, ",
        ids.ids.size(), ", received ",
        offsets.empty() ? "none"
                        : Concat(offsets.front(), " to ", offsets.back()));
  }
  if (!std::is_sorted(offsets.begin(), offsets.end())) {
    return InvalidArgument("bag_offsets must not decrease");
  }
  if (!ids.weights.empty() && ids.weights.size() != ids.ids.size()) {
    return InvalidArgument("weights must be empty or one per id, ",
                           ids.ids.size(), ", received ", ids.weights.size());
  }
  return Status();
}

void BagShares::Build(const TableIds& bags) {
  dim_ = bags.dim;
  offsets_ = bags.bag_offsets;
  weights_.assign(bags.weights.begin(), bags.weights.end());
  divisors_.clear();
  for (size_t b = 0; b + 1 < offsets_.size(); ++b) {
    const size_t ids = offsets_[b + 1] - offsets_[b];
    const Span<const float> weights(weights_);
    divisors_.push_back(
        Divisor(bags.combiner, ids,
                weights.empty() ? weights : weights.subspan(offsets_[b], ids)));
  }
}

void BagShares::Pool(Span<const uint32_t> inverse, Span<const float> rows,
                     Span<float> vectors) const {
  std::fill(vectors.begin(), vectors.end(), 0.0f);
  for (size_t b = 0; b < divisors_.size(); ++b) {
    float* const vector = vectors.data() + b * dim_;
    for (uint32_t i = offsets_[b]; i < offsets_[b + 1]; ++i) {
      AddPlace(i, rows.data() + inverse[i] * dim_, vector);
    }
    if (divisors_[b] != 1) Divide(vector, divisors_[b], dim_, vector);
  }
}

void BagShares::Unpool(Span<const uint32_t> inverse,
                       Span<const float> vector_gradients,
                       Span<float> row_gradients) const {
  std::fill(row_gradients.begin(), row_gradients.end(), 0.0f);
  std::vector<float> divided(dim_);
  for (size_t b = 0; b < divisors_.size(); ++b) {
    const float* gradient = vector_gradients.data() + b * dim_;
    if (divisors_[b] != 1) {
      Divide(gradient, divisors_[b], dim_, divided.data());
      gradient = divided.data();
    }
    for (uint32_t i = offsets_[b]; i < offsets_[b + 1]; ++i) {
      AddPlace(i, gradient, row_gradients.data() + inverse[i] * dim_);
    }
  }
}

void BagShares::AddPlace(uint32_t place, const float* from, float* to) const {
  if (weights_.empty()) return Add(from, dim_, to);
  if (weights_[place] == 0) return;  // 0 * infinity would give NaN.
  AddScaled(from, weights_[place], dim_, to);
}

}  // namespace persia
