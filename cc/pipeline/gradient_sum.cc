#include "cc/pipeline/gradient_sum.h"

#include <utility>

namespace persia {
namespace {

SummedGradients SumOnePart(const StagedGradients& part, size_t dim) {
  const UniqueIds& unique = part.lookup->unique;
  SummedGradients sum;
  sum.ids = unique.ids;
  if (!unique.had_duplicates()) {
    sum.gradients = part.gradients.values;
    return sum;
  }
  sum.own_gradients.resize(unique.ids.size() * dim);
  AddGradients(unique.inverse, part.gradients.values, dim, sum.own_gradients);
  sum.gradients = sum.own_gradients;
  return sum;
}

}  // namespace

SummedGradients SumGradients(const TableStep& step) {
  if (step.parts.size() == 1) return SumOnePart(step.parts[0], step.dim);

  std::vector<int64_t> all_ids;
  for (const StagedGradients& part : step.parts) {
    const std::vector<int64_t>& ids = part.lookup->unique.ids;
    all_ids.insert(all_ids.end(), ids.begin(), ids.end());
  }
  UniqueIds merged = Dedupe(all_ids);

  SummedGradients sum;
  sum.own_ids = std::move(merged.ids);
  sum.own_gradients.resize(sum.own_ids.size() * step.dim);
  Span<const uint32_t> rest = merged.inverse;
  for (const StagedGradients& part : step.parts) {
    const SummedGradients one = SumOnePart(part, step.dim);
    AddGradients(rest.first(one.ids.size()), one.gradients, step.dim,
                 sum.own_gradients);
    rest = rest.subspan(one.ids.size());
  }
  sum.ids = sum.own_ids;
  sum.gradients = sum.own_gradients;
  return sum;
}

}  // namespace persia
