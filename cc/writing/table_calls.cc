#include "cc/writing/table_calls.h"

#include <limits>
#include <vector>

#include "cc/base/scratch.h"
#include "cc/service/assign_check.h"
#include "cc/service/pooling.h"

namespace persia {
namespace {

// Memory for pooling bags. Each thread reuses its own, so that a steady load
// allocates nothing per row.
struct Pooled {
  BagPooler pooler;
  Span<float> rows;  // Rows, or their gradients, of unique ids.
  Scratch<float> memory;
};

// Builds the pooler for `ids` and allocates memory for the rows of its unique
// ids.
Pooled& PoolerOf(const TableIds& ids) {
  thread_local Pooled pooled;
  pooled.pooler.Build(ids);
  const size_t floats = pooled.pooler.unique_ids().size() * ids.dim;
  pooled.rows = {pooled.memory.Get(floats), floats};
  return pooled;
}

OptimizerStep StepOf(const TableUpdate& update) {
  return {update.learning_rate, update.step};
}

}  // namespace

Status CheckIdCount(size_t count) {
  if (count <= std::numeric_limits<uint32_t>::max()) return Status();
  return InvalidArgument("ids must be fewer than 2^32, received ", count);
}

Status CheckIds(const TableIds& ids, const TableConfig& config,
                const char* what, size_t floats) {
  if (ids.dim != config.dim) {
    return InvalidArgument("table \"", config.name, "\" has output_dim ",
                           config.dim, ", received ", ids.dim);
  }
  PERSIA_RETURN_IF_ERROR(CheckIdCount(ids.ids.size()));
  PERSIA_RETURN_IF_ERROR(CheckBags(ids));
  const size_t expected = ids.vectors() * ids.dim;
  if (floats == expected) return Status();
  return InvalidArgument(what, " of table \"", config.name, "\" must hold ",
                         expected, " numbers, received ", floats);
}

Status CheckAssign(const AssignRequest& request, const Table& table) {
  const TableConfig& config = table.config();
  if (request.dim != config.dim) {
    return InvalidArgument("table \"", config.name, "\" has output_dim ",
                           config.dim, ", received ", request.dim);
  }
  if (request.state_size != 0 && request.state_size != table.state_size()) {
    return InvalidArgument(
        "a row of table \"", config.name, "\" has ", table.state_size(),
        " numbers of optimizer state, received ", request.state_size);
  }
  return CheckAssignSizes(request);
}

void LookUp(const TableLookup& lookup, const ReadRows& read) {
  if (lookup.ids.combiner == Combiner::kNone) {
    read(lookup.ids.ids, lookup.rows);
    return;
  }
  Pooled& pooled = PoolerOf(lookup.ids);
  read(pooled.pooler.unique_ids(), pooled.rows);
  pooled.pooler.Pool(pooled.rows, lookup.rows);
}

UpdateCounts Apply(Table* table, const TableUpdate& update) {
  if (update.ids.combiner == Combiner::kNone) {
    return table->Update(update.ids.ids, update.gradients, StepOf(update));
  }
  Pooled& pooled = PoolerOf(update.ids);
  pooled.pooler.Unpool(update.gradients, pooled.rows);
  return table->Update(pooled.pooler.unique_ids(), pooled.rows, StepOf(update));
}

void LookUpAll(const std::vector<Table*>& tables, LookupRequest* request) {
  for (size_t t = 0; t < tables.size(); ++t) {
    LookUp(request->tables[t], [&](Span<const int64_t> ids, Span<float> rows) {
      tables[t]->Lookup(ids, request->read_only, rows, /*changes=*/nullptr,
                        request->tables[t].absent);
    });
  }
}

void ApplyAll(const std::vector<Table*>& tables, UpdateRequest* request) {
  for (size_t t = 0; t < tables.size(); ++t) {
    request->counts += Apply(tables[t], request->tables[t]);
  }
}

}  // namespace persia
