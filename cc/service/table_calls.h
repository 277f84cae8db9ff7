// How a request's part for one table becomes calls of it.
//
// Thread-safe, as far as the tables are.

#ifndef PERSIA_CC_SERVICE_TABLE_CALLS_H_
#define PERSIA_CC_SERVICE_TABLE_CALLS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/store/table.h"

namespace persia {

// Places in a batch are 32 bits wide.
Status CheckIdCount(size_t count);

// `what` names the array that brings or takes `floats` of `ids`.
Status CheckIds(const TableIds& ids, const TableConfig& config,
                const char* what, size_t floats);

Status CheckAssign(const AssignRequest& request, const Table& table);

// Fills lookup.rows, of bags or of ids, with what `read` gives for unique ids:
// ids.size() x dim.
using ReadRows = std::function<void(Span<const int64_t> ids, Span<float> rows)>;
void LookUp(const TableLookup& lookup, const ReadRows& read);

// Preconditions: the checks above have passed.
UpdateCounts Apply(Table* table, const TableUpdate& update);

// Of all parts of a request, whose tables are in their order.
void LookUpAll(const std::vector<Table*>& tables, LookupRequest* request);
// Adds to request->counts.
void ApplyAll(const std::vector<Table*>& tables, UpdateRequest* request);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_TABLE_CALLS_H_
