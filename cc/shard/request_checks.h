// Checks of requests against the tables of a shard.

#ifndef PERSIA_CC_SHARD_REQUEST_CHECKS_H_
#define PERSIA_CC_SHARD_REQUEST_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/ownership.h"
#include "cc/store/store.h"
#include "cc/writing/update_window.h"

namespace persia {

// Returns how many rows the next page of an export may have at most.
size_t PageRows(const ExportRequest& request);

Status CheckCursor(const ExportRequest& request);

// kFailedPrecondition if the order of the table's rows has changed since the
// export began, so that the export cannot continue.
Status CheckOrder(const Table& table, const ExportRequest& request);

// kNotFound if the request is for a member other than `own`, and
// kInvalidArgument if it names none, but is not for shard 0: a shard's service
// has only one shard, itself.
Status CheckShard(const ChangesRequest& request, uint64_t own);

// Checks a whole update before any row is changed, and appends the update's
// tables to `*tables`. kFailedPrecondition if the update belongs to another
// generation than the store's, or if a table has no optimizer yet.
Status CheckUpdate(const Store& store, uint64_t generation,
                   const UpdateRequest& request, std::vector<Table*>* tables);

// Returns why an update with this verdict must not be applied now; OK for
// kApply and kApplied.
Status CheckVerdict(UpdateWindow::Verdict verdict, uint64_t sequence);

// kMoved if the sender does not know exactly what the shard owns, and the shard
// does not own the slots of all ids.
Status CheckOwned(const Ownership& ownership, uint64_t route,
                  Span<const int64_t> ids);
// Bags are not split by the slots of their ids, so a client that takes this
// shard for the only one of its cluster may send it any, although it knows what
// the shard owns.
Status CheckOwned(const Ownership& ownership, const LookupRequest& request);
Status CheckOwned(const Ownership& ownership, const UpdateRequest& request);

// Whether a request has ids of some of these slots.
bool Touches(const LookupRequest& request, const SlotSet& slots);
bool Touches(const UpdateRequest& request, const SlotSet& slots);
bool Touches(const AssignRequest& request, const SlotSet& slots);
bool Touches(const RemoveRequest& request, const SlotSet& slots);

// Appends the table of `ids` to `*tables`, and checks `ids` as CheckIds does,
// which describes `what` and `floats`.
Status FindTable(const Store& store, const TableIds& ids, const char* what,
                 size_t floats, std::vector<Table*>* tables);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REQUEST_CHECKS_H_
