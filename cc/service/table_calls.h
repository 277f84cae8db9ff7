// Functions that check a request's part for one table and apply it to the
// table.
//
// Thread-safe, as the tables are.

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

// InvalidArgument for 2^32 ids or more: indices into a batch have 32 bits.
Status CheckIdCount(size_t count);

// InvalidArgument if `ids` do not match the table, or `floats` is not the size
// that they need. `what` names the array of that size in the error.
Status CheckIds(const TableIds& ids, const TableConfig& config,
                const char* what, size_t floats);

Status CheckAssign(const AssignRequest& request, const Table& table);

// Fills lookup.rows, with bags or without. `read` is called once, with the
// unique ids, and must fill `rows`: ids.size() x dim.
using ReadRows = std::function<void(Span<const int64_t> ids, Span<float> rows)>;
void LookUp(const TableLookup& lookup, const ReadRows& read);

// Applies an update with the table's optimizer. Precondition: the checks above
// have passed.
UpdateCounts Apply(Table* table, const TableUpdate& update);

// The same for all tables of a request; `tables` has them in the request's
// order.
void LookUpAll(const std::vector<Table*>& tables, LookupRequest* request);
// Adds to request->counts.
void ApplyAll(const std::vector<Table*>& tables, UpdateRequest* request);

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_TABLE_CALLS_H_
