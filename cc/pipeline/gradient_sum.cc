#include "cc/pipeline/gradient_sum.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace persia {
namespace {

// Returns the part's gradients without gaps: a view of them if they have none,
// else a copy in `*own`.
Span<const float> WithoutGaps(const StagedGradients& part,
                              std::vector<float>* own) {
  const size_t dim = part.plan->dim;
  const StridedSpan<const float> gradients = part.gradients.vectors;
  if (gradients.IsContiguous(dim)) return gradients.values();
  AppendVectors(gradients, part.plan->vectors(), dim, own);
  return *own;
}

// Sums one part's gradients per unique id.
SummedGradients SumRows(const StagedGradients& part, const TableStep& step) {
  const UniqueIds& unique = part.plan->unique;
  SummedGradients sum;
  sum.ids = part.plan->UniqueRows();
  const LookupBags* const bags = part.plan->bags.get();
  if (bags == nullptr && !unique.had_duplicates()) {
    sum.gradients = WithoutGaps(part, &sum.own_gradients);
    return sum;
  }
  sum.own_gradients.resize(unique.ids.size() * step.dim);
  if (bags == nullptr) {
    AddGradients(unique.inverse, part.gradients.vectors, step.dim,
                 sum.own_gradients);
  } else {
    std::vector<float> own;
    bags->shares().Unpool(unique.inverse, WithoutGaps(part, &own),
                          sum.own_gradients);
  }
  sum.gradients = sum.own_gradients;
  return sum;
}

SummedGradients SumPart(const StagedGradients& part, const TableStep& step) {
  if (!part.plan->sends_bags()) return SumRows(part, step);
  SummedGradients sum;
  sum.ids = part.plan->bags->ids();
  sum.gradients = WithoutGaps(part, &sum.own_gradients);
  return sum;
}

// Whether the parts can be joined as the bags of one update. The parts of one
// layer's replicas, for example, can be joined.
bool AreBagsOfOneKind(const std::vector<StagedGradients>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
    if (!part.plan->sends_bags()) return false;
    const TableIds& ids = part.plan->bags->ids();
    const TableIds& first = parts.front().plan->bags->ids();
    return ids.combiner == first.combiner && ids.weights.empty();
  });
}

SummedGradients JoinBags(const TableStep& step) {
  SummedGradients sum;
  sum.own_offsets.push_back(0);
  for (const StagedGradients& part : step.parts) {
    const TableIds& bags = part.plan->bags->ids();
    const auto before = static_cast<uint32_t>(sum.own_ids.size());
    for (const uint32_t end : bags.bag_offsets.subspan(1)) {
      sum.own_offsets.push_back(before + end);
    }
    sum.own_ids.insert(sum.own_ids.end(), bags.ids.begin(), bags.ids.end());
    AppendVectors(part.gradients.vectors, part.plan->vectors(), step.dim,
                  &sum.own_gradients);
  }
  sum.ids = step.parts.front().plan->bags->ids();
  sum.ids.ids = sum.own_ids;
  sum.ids.bag_offsets = sum.own_offsets;
  sum.gradients = sum.own_gradients;
  return sum;
}

SummedGradients MergeRows(const TableStep& step) {
  std::vector<int64_t> all_ids;
  for (const StagedGradients& part : step.parts) {
    const std::vector<int64_t>& ids = part.plan->unique.ids;
    all_ids.insert(all_ids.end(), ids.begin(), ids.end());
  }
  UniqueIds merged = Dedupe(all_ids);

  SummedGradients sum;
  sum.own_ids = std::move(merged.ids);
  sum.own_gradients.resize(sum.own_ids.size() * step.dim);
  Span<const uint32_t> rest = merged.inverse;
  for (const StagedGradients& part : step.parts) {
    const SummedGradients one = SumRows(part, step);
    const size_t ids = one.ids.ids.size();
    AddGradients(rest.first(ids), one.gradients, step.dim, sum.own_gradients);
    rest = rest.subspan(ids);
  }
  sum.ids.table = step.table;
  sum.ids.dim = step.dim;
  sum.ids.ids = sum.own_ids;
  sum.gradients = sum.own_gradients;
  return sum;
}

}  // namespace

SummedGradients SumGradients(const TableStep& step) {
  if (step.parts.size() == 1) return SumPart(step.parts[0], step);
  return AreBagsOfOneKind(step.parts) ? JoinBags(step) : MergeRows(step);
}

}  // namespace persia
