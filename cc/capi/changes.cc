#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/slots.h"
#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/pipeline/session.h"

using persia::ReportStatus;

struct persia_changes {
  persia::ChangesRequest request;
  // The dtype of each table's rows, as text.
  std::vector<std::string> row_dtypes;
  // What the request's `held` and `fresh` say, by slot.
  std::vector<uint32_t> slot_epochs;
  std::vector<uint8_t> fresh;
};

namespace persia {
namespace {

FollowPosition PositionOf(const persia_follow_position& from) {
  FollowPosition position;
  position.follower = from.follower;
  position.epoch = from.epoch;
  position.version = from.version;
  position.base_save = from.base_save;
  return position;
}

void SpreadSlots(persia_changes* changes) {
  const ChangesRequest& request = changes->request;
  changes->slot_epochs.resize(kSlots);
  changes->fresh.resize(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    changes->fresh[slot] = request.fresh[slot] ? 1 : 0;
    for (const SlotsOfEpoch& each : request.held.epochs) {
      if (each.slots[slot]) changes->slot_epochs[slot] = each.epoch;
    }
  }
}

Status SendChangesRequest(const char* name, ChangesRequest* request) {
  auto session = FindSession(name);
  if (!session.ok()) return session.status();
  return (*session)->Call(request);
}

}  // namespace
}  // namespace persia

int persia_session_changes(const char* name, uint32_t shard, uint64_t member,
                           persia_follow_position* position, uint64_t max_rows,
                           persia_changes** changes) {
  auto made = std::make_unique<persia_changes>();
  persia::ChangesRequest& request = made->request;
  request.shard = shard;
  request.member = member;
  request.position = persia::PositionOf(*position);
  request.max_rows = max_rows;
  const int code = ReportStatus(persia::SendChangesRequest(name, &request));
  if (code != 0) return code;
  persia::SpreadSlots(made.get());
  for (const persia::TableChanges& table : request.tables) {
    made->row_dtypes.push_back(table.config.row_dtype.ToString());
  }
  const persia::FollowPosition& now = request.position;
  *position = {now.follower, now.epoch, now.version, now.base_save};
  *changes = made.release();
  return 0;
}

void persia_changes_get(const persia_changes* changes,
                        persia_changes_view* view) {
  view->begins = static_cast<int>(changes->request.begins);
  view->complete = changes->request.complete ? 1 : 0;
  view->tables = static_cast<int>(changes->request.tables.size());
  view->slot_epochs = changes->slot_epochs.data();
  view->cluster = changes->request.held.cluster;
  view->fresh = changes->fresh.data();
}

int persia_changes_table(const persia_changes* changes, int table,
                         persia_changed_table* out) {
  const auto& tables = changes->request.tables;
  if (table < 0 || static_cast<size_t>(table) >= tables.size()) {
    return ReportStatus(
        persia::InvalidArgument("table must be at least 0 and below ",
                                tables.size(), ", received ", table));
  }
  const auto at = static_cast<size_t>(table);
  const persia::TableChanges& from = tables[at];
  out->name = from.config.name.c_str();
  out->dim = from.config.dim;
  out->row_dtype = changes->row_dtypes[at].c_str();
  out->ids = from.rows.ids.data();
  out->rows = from.rows.weights.data();
  out->count = from.rows.ids.size();
  out->erased = from.rows.erased.data();
  out->erased_count = from.rows.erased.size();
  out->fate = static_cast<int>(from.fate);
  return 0;
}

void persia_changes_free(persia_changes* changes) { delete changes; }

void persia_slots_of_ids(const int64_t* ids, uint64_t count, uint32_t* slots) {
  for (uint64_t i = 0; i < count; ++i) slots[i] = persia::SlotOf(ids[i]);
}
