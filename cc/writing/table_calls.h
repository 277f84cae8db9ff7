// Functions that check a request's part for one table and apply it to the
// table.
//
// Thread-safe, as the tables are.

#ifndef PERSIA_CC_WRITING_TABLE_CALLS_H_
#define PERSIA_CC_WRITING_TABLE_CALLS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/store/table.h"

namespace persia {

// InvalidArgument for 2^32 ids or more: indices into a batch have 32 bits.
Status CheckIdCount(size_t count);

// Returns InvalidArgument if `ids` do not match the table's settings, or if the
// array of their vectors has the wrong size. `floats` is the size of that
// array, and `what` is its name in the error.
Status CheckIds(const TableIds& ids, const TableConfig& config,
                const char* what, size_t floats);

Status CheckAssign(const AssignRequest& request, const Table& table);

// Fills lookup.rows, and pools bags if the lookup has any. `read` is called
// once, with the unique ids, and must fill `rows`, an array of ids.size() x
// dim.
using ReadRows = std::function<void(Span<const int64_t> ids, Span<float> rows)>;
void LookUp(const TableLookup& lookup, const ReadRows& read);

// Applies an update with the table's optimizer. Precondition: CheckIds has
// accepted the update.
UpdateCounts Apply(Table* table, const TableUpdate& update);

// Performs the lookups of all tables of a request. `tables` are in the
// request's order.
void LookUpAll(const std::vector<Table*>& tables, LookupRequest* request);
// Applies the updates of all tables of a request, and adds their counters to
// request->counts.
void ApplyAll(const std::vector<Table*>& tables, UpdateRequest* request);

}  // namespace persia

#endif  // PERSIA_CC_WRITING_TABLE_CALLS_H_
