#include "cc/pipeline/lookup_planner.h"

#include "cc/pipeline/parallel_for.h"
#include "cc/service/pooling_service.h"
#include "cc/wire/id_layout.h"
#include "cc/wire/vector_codec.h"

namespace persia {
namespace {

// So many ids that their deduplication takes much longer than the start of a
// thread.
constexpr size_t kManyIds = size_t{16} << 10;

}  // namespace

void LookupPlanner::SendBagsOf(TableKey table) {
  std::lock_guard<std::mutex> lock(mutex_);
  tables_.insert(table);
}

std::vector<std::shared_ptr<LookupPlan>> LookupPlanner::Plan(
    Span<const Ids> lookups) const {
  std::vector<std::shared_ptr<LookupPlan>> plans(lookups.size());
  const auto plan = [&](size_t i) {
    plans[i] = PlanOne(*lookups[i].layer, *lookups[i].ids);
  };
  size_t ids = 0;
  for (const Ids& lookup : lookups) ids += lookup.ids->ids.size();
  ParallelFor(ids >= kManyIds ? threads_ : nullptr, lookups.size(), plan);
  return plans;
}

std::shared_ptr<LookupPlan> LookupPlanner::PlanOne(const std::string& layer,
                                                   const TableIds& ids) const {
  auto plan = std::make_shared<LookupPlan>();
  plan->layer = layer;
  plan->table = ids.table;
  plan->dim = ids.dim;
  plan->unique = Dedupe(ids.ids, service_.Owners().get());
  if (ids.combiner == Combiner::kNone) return plan;
  const Span<const int64_t> unique = plan->unique.ids;
  const bool by_service =
      PoolsBagsOf(ids.table) &&
      unique.size() * ids.dim * sizeof(float) <= kMaxPooledRowBytes &&
      MoveLessThanRows(ids, unique);
  plan->bags = std::make_unique<LookupBags>(
      ids,
      by_service ? LookupBags::PooledBy::kService : LookupBags::PooledBy::kUs);
  return plan;
}

// Whether sending the bags moves fewer bytes than sending unique ids. Comparing
// the bytes of the lookup is enough: in either form, the update moves as many
// ids and vectors as the lookup. (With int4 it takes twice the bytes for bags'
// gradients, which are int8; that seldom decides.) The ids of the bags have as
// many bytes each as the unique ids, which are the same numbers.
bool LookupPlanner::MoveLessThanRows(const TableIds& bags,
                                     Span<const int64_t> unique_ids) const {
  const uint32_t id_bytes = LayoutOf(unique_ids, wire_dtype_).width;
  const auto bytes = [&](size_t ids, size_t vectors) {
    return ids * id_bytes + EncodedBytes(wire_dtype_, vectors, bags.dim);
  };
  const uint64_t beside = bags.bag_offsets.size() * sizeof(uint32_t) +
                          bags.weights.size() * sizeof(float);
  return bytes(bags.ids.size(), bags.vectors()) + beside <
         bytes(unique_ids.size(), unique_ids.size());
}

bool LookupPlanner::PoolsBagsOf(TableKey table) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return tables_.count(table) > 0;
}

}  // namespace persia
