#include "cc/shard/request_checks.h"

#include <algorithm>
#include <cmath>

#include "cc/base/number.h"
#include "cc/optimizer/undecided.h"
#include "cc/writing/table_calls.h"

namespace persia {
namespace {

bool AnyIn(Span<const int64_t> ids, const SlotSet& slots) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](int64_t id) { return slots[SlotOf(id)]; });
}

template <typename Request>
bool AnyTableIn(const Request& request, const SlotSet& slots) {
  return std::any_of(
      request.tables.begin(), request.tables.end(),
      [&](const auto& table) { return AnyIn(table.ids.ids, slots); });
}

template <typename Request>
Status CheckEachOwned(const Ownership& ownership, const Request& request) {
  const bool is_known = ownership.Knows(request.route);
  for (const auto& table : request.tables) {
    const bool is_split = table.ids.combiner == Combiner::kNone;
    if (is_known && (is_split || ownership.OwnsAll())) continue;
    PERSIA_RETURN_IF_ERROR(ownership.Check(request.route, table.ids.ids));
  }
  return Status();
}

}  // namespace

Status CheckOwned(const Ownership& ownership, uint64_t route,
                  Span<const int64_t> ids) {
  return ownership.Knows(route) ? Status() : ownership.Check(route, ids);
}

Status CheckOwned(const Ownership& ownership, const LookupRequest& request) {
  return CheckEachOwned(ownership, request);
}

Status CheckOwned(const Ownership& ownership, const UpdateRequest& request) {
  return CheckEachOwned(ownership, request);
}

bool Touches(const LookupRequest& request, const SlotSet& slots) {
  return AnyTableIn(request, slots);
}

bool Touches(const UpdateRequest& request, const SlotSet& slots) {
  return AnyTableIn(request, slots);
}

bool Touches(const AssignRequest& request, const SlotSet& slots) {
  return AnyIn(request.ids, slots);
}

bool Touches(const RemoveRequest& request, const SlotSet& slots) {
  return AnyIn(request.ids, slots);
}

size_t PageRows(const ExportRequest& request) {
  const size_t row_bytes =
      sizeof(int64_t) +
      sizeof(float) * (size_t{request.dim} + request.state_size);
  const size_t most =
      std::max<size_t>(1, ExportRequest::kMostBytes / row_bytes);
  return static_cast<size_t>(std::min<uint64_t>(request.max_rows, most));
}

Status CheckCursor(const ExportRequest& request) {
  if (request.max_rows < 1) {
    return InvalidArgument("max_rows must be at least 1, received 0");
  }
  if (request.cursor.shard == 0) return Status();
  return InvalidArgument("an export of one shard must have shard 0, received ",
                         request.cursor.shard);
}

Status CheckOrder(const Table& table, const ExportRequest& request) {
  if (table.CanExportFrom(request.cursor.position)) return Status();
  return Status(
      Code::kFailedPrecondition,
      Concat("the order of the rows of table \"", table.config().name,
             "\" changed after the export began: its shard was restarted, or "
             "the table was restored or created again; export again"));
}

Status CheckShard(const ChangesRequest& request, uint64_t own) {
  if (request.member == own) return Status();
  if (request.member != 0) {
    return Status(Code::kNotFound,
                  Concat("the shard with the id ", request.member,
                         " has left the cluster, or was restarted without its "
                         "recovery folder; the id of this shard is ",
                         own));
  }
  if (request.shard == 0) return Status();
  return InvalidArgument("changes of one shard must be of shard 0, received ",
                         request.shard);
}

Status CheckUpdate(const Store& store, uint64_t generation,
                   const UpdateRequest& request, std::vector<Table*>* tables) {
  if (request.generation != generation) {
    return Status(
        Code::kFailedPrecondition,
        Concat("the update belongs to a lookup of generation ",
               request.generation, ", but the shard is at ", generation,
               ": it was restored since; look the rows up again"));
  }
  for (const TableUpdate& update : request.tables) {
    PERSIA_RETURN_IF_ERROR(FindTable(store, update.ids, "gradients",
                                     update.gradients.size(), tables));
    if (IsUndecided(tables->back()->config().optimizer)) {
      return Status(Code::kFailedPrecondition,
                    Concat("table \"", tables->back()->config().name,
                           "\" has no optimizer yet: decide it by CreateTable "
                           "before you update rows"));
    }
    if (!std::isfinite(update.learning_rate)) {
      return InvalidArgument("learning_rate must be finite, received ",
                             NumberText(update.learning_rate));
    }
  }
  return Status();
}

Status CheckVerdict(UpdateWindow::Verdict verdict, uint64_t sequence) {
  switch (verdict) {
    case UpdateWindow::Verdict::kApply:
    case UpdateWindow::Verdict::kApplied:
      return Status();
    case UpdateWindow::Verdict::kInProgress:
      return Status(
          Code::kUnavailable,
          Concat("update ", sequence,
                 " is still being applied: retry to get its outcome"));
    case UpdateWindow::Verdict::kTooOld:
      return Status(
          Code::kFailedPrecondition,
          Concat("update ", sequence, " is more than ", UpdateWindow::kWindow,
                 " behind its client's newest, or its client was idle so long "
                 "that the shard forgot it, so it is not known whether the "
                 "update was applied: keep fewer updates in flight"));
    case UpdateWindow::Verdict::kTooMany:
      return Status(Code::kResourceExhausted,
                    "this shard has served over a million clients since it was "
                    "started, and cannot tell more apart: save a checkpoint, "
                    "and restart the shard from it");
  }
  return Status();
}

Status FindTable(const Store& store, const TableIds& ids, const char* what,
                 size_t floats, std::vector<Table*>* tables) {
  const Result<Table*> table = store.Find(ids.table);
  if (!table.ok()) return table.status();
  tables->push_back(*table);
  return CheckIds(ids, (*table)->config(), what, floats);
}

}  // namespace persia
