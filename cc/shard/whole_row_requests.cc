#include "cc/shard/whole_row_requests.h"

#include "cc/shard/request_checks.h"
#include "cc/shard/rows_of_slots.h"
#include "cc/writing/table_calls.h"

namespace persia {

Status WholeRowRequests::Export(ExportRequest* request,
                                uint64_t* log_end) const {
  const Ownership& ownership = *subject_.ownership;
  PERSIA_RETURN_IF_ERROR(CheckCursor(*request));
  if (request->route != 0 && !ownership.Knows(request->route)) {
    return Ownership::OtherRoute();
  }
  const Result<Table*> table = subject_.store->Find(request->table);
  if (!table.ok()) {
    // A shard that has joined the cluster has no tables before it has slots.
    if (ownership.slots().any()) return table.status();
    request->dim = 1;
    request->page = RowPage();
    request->cursor.position = Table::kEnd;
    return Status();
  }
  request->dim = (*table)->config().dim;
  request->state_size = static_cast<uint32_t>((*table)->state_size());
  request->page = RowPage();
  if (request->cursor.at_end()) return Status();
  PERSIA_RETURN_IF_ERROR(CheckOrder(**table, *request));
  request->cursor.position = (*table)->Export(
      request->cursor.position, PageRows(*request), &request->page);
  KeepSlots(ownership.slots(), request);
  subject_.writer->TellTime(*table, log_end);
  return Status();
}

Status WholeRowRequests::Assign(const AssignRequest& request,
                                uint64_t* log_end) const {
  const Result<Table*> table = subject_.store->Find(request.table);
  if (!table.ok()) return table.status();
  PERSIA_RETURN_IF_ERROR(CheckIdCount(request.ids.size()));
  PERSIA_RETURN_IF_ERROR(
      CheckOwned(*subject_.ownership, request.route, request.ids));
  PERSIA_RETURN_IF_ERROR(CheckAssign(request, **table));
  return subject_.writer->Assign(*table, request, log_end);
}

Status WholeRowRequests::Remove(RemoveRequest* request,
                                uint64_t* log_end) const {
  const Result<Table*> table = subject_.store->Find(request->table);
  if (!table.ok()) return table.status();
  PERSIA_RETURN_IF_ERROR(CheckIdCount(request->ids.size()));
  PERSIA_RETURN_IF_ERROR(
      CheckOwned(*subject_.ownership, request->route, request->ids));
  return subject_.writer->Remove(*table, request, log_end);
}

}  // namespace persia
